#pragma once
// Logistic regression of two groups of samples on a few numbers.

#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

struct LogisticFit {
  std::vector<double> weights;  ///< p, of x as given; 0 for a column that is constant
  double intercept = 0;
  double gradient = 0;  ///< largest component of the objective's gradient where the solver stopped
  int steps = 0;        ///< of Newton's method

  /// Log-odds of one row of x.
  double operator()(std::span<const float> row) const;
};

/// The minimum of the objective in logistic.cpp. x: n x p, finite; positive: n, 1 or 0; importance: n weights above 0.
/// Throws usage unless both groups have samples.
LogisticFit fit_logistic(MatrixView<const float> x, std::span<const std::uint8_t> positive,
                         std::span<const double> importance, double lambda);

}  // namespace parsnets
