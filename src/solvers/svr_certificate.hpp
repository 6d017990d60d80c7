#pragma once
// Primal and dual objective of each output of the SVR (see svr.hpp) for given β and f = Tβ, in double, and the bias
// that is optimal for f.

#include <span>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct SvrValues {
  std::span<double> primal, dual;  ///< per output
  std::span<float> bias;           ///< per output; zeros without a global bias
};

/// targets, f, beta: N x m. β must be feasible for `dual` to be a lower bound of the optimum.
void evaluate_svr(ThreadPool& pool, MatrixView<const float> targets, MatrixView<const float> f,
                  MatrixView<const float> beta, double c, double epsilon, bool global_bias, const SvrValues& out);

/// A minimiser of Σ_l max(0, |r_l − b| − ε) over b. Since max(0,|x|−ε) = ½|x−ε| + ½|x+ε| − ε, it is the median of the
/// 2N points r_l ± ε (the middle of the two central ones). `points` is scratch for 2N + 1 values.
float tube_bias(std::span<const float> r, float epsilon, std::span<float> points);

}  // namespace parsnets
