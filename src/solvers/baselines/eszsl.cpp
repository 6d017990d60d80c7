// ESZSL: V = (XᵀX + γI)⁻¹ Xᵀ Y S (SᵀS + λI)⁻¹, Y ∈ {−1, 1}^{n x P}, S the P class vectors. Y = Y₁(2I − 11ᵀ) with the
// one-hot Y₁, so that V is plain ridge towards the targets (2I − 11ᵀ) S (SᵀS + λI)⁻¹.

#include "base/linalg.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

LinearMap solve_eszsl(const SummedSamples& samples, double gamma, double lambda, ThreadPool& pool) {
  check_positive(gamma, "gamma");
  check_positive(lambda, "lambda");
  const ClassMoments moments(samples);
  const Matrix<double>& semantics = moments.semantics;
  const std::size_t classes = semantics.rows(), m = semantics.cols();
  Matrix<double> columns = transposed(semantics);
  Cholesky(pool, product(pool, Trans::yes, semantics, Trans::no, semantics), lambda).solve(pool, columns.view());
  Matrix<double> targets(classes, m);
  for (std::size_t j = 0; j < m; ++j) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += columns(j, c);
    for (std::size_t c = 0; c < classes; ++c) targets(c, j) = 2 * columns(j, c) - sum;
  }
  return {to_float(solve_class_ridge(samples, moments, gamma, targets, pool).view()), std::vector<float>(m, 0.0f)};
}

}  // namespace parsnets
