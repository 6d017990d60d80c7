#pragma once
// Evaluation: the zero-shot protocol on the test samples of a data set.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/metrics.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// How many test samples of class `label` were taken for class `predicted`; both are places in the data set's classes.
struct Confusion {
  std::int32_t label = 0, predicted = 0;  ///< classes
  std::uint32_t samples = 0;              ///< at least 1
};

/// Everything the protocol asks of a model on a data set's test samples.
struct Evaluation {
  Accuracy zsl;                       ///< unseen test samples among the unseen classes
  bool has_gzsl = false;              ///< there are test samples of seen classes; otherwise gzsl is empty
  Gzsl gzsl;                          ///< among all classes, at the model's gamma
  std::vector<Confusion> confusion;   ///< pairs that occur, by label: all test samples among all classes, with gamma
  std::vector<std::string> warnings;  ///< which results are meaningless, and why
  std::int64_t trained_samples = 0;   ///< test samples that the model was trained on; -1: some, the number is not known
};
/// Evaluates a model. Classes are matched by name; throws bad_input when the model lacks a test class, when the data
/// set was loaded with other semantics than the model's, and when it was trained on test samples unless
/// `allow_trained_samples`.
Evaluation evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    bool allow_trained_samples = false);

/// Sets gamma and temperature by samples (n x d, labels are places in the class bank) that training did not see, of
/// seen and of unseen classes: the best harmonic mean, then the best likelihood. Throws bad_input, and changes nothing
/// then, without samples of both kinds.
void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool);

}  // namespace parsnets
