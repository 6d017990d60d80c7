#pragma once
// The protocol for anything that scores classes.

#include <functional>

#include "parsnets/training.hpp"

namespace parsnets {

struct TestSubject {
  const std::vector<std::string>& class_names;
  const std::vector<std::uint8_t>& class_seen;
  double gamma = 0;
  std::function<void(MatrixView<const float>, const ScoreVisitor&)> visit_scores;  ///< of n x d raw features
};

/// As evaluate().
TestReport evaluate_subject(const TestSubject& subject, const Dataset& data, ProgressObserver* progress);

}  // namespace parsnets
