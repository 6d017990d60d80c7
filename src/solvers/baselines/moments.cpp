#include "solvers/baselines/moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

void check_positive(double value, const char* name) {
  if (!(value > 0) || !std::isfinite(value))
    throw Error(ErrorCode::usage, fmt::format("{} must be a positive number, found {}", name, value));
}

ClassMoments::ClassMoments(const SummedSamples& samples)
    : total(samples.statistics.weight()), mean(samples.statistics.dimensions(), 0.0) {
  const Statistics& statistics = samples.statistics;
  std::vector<std::size_t> rows;
  for (std::size_t c = 0; c < statistics.class_names().size(); ++c)
    if (statistics.class_weights()[c] > 0) {
      rows.push_back(c);
      counts.push_back(statistics.class_weights()[c]);
    }
  const std::size_t classes = rows.size(), d = mean.size(), m = samples.semantics.cols();
  if (samples.semantics.rows() <= rows.back() || m == 0)
    throw Error(BadInput{"training samples", "semantics",
                         fmt::format("at least {} rows and one column", rows.back() + 1),
                         fmt::format("{} x {}", samples.semantics.rows(), m), "check the labels and the semantics"});
  for (const std::size_t row : rows)
    for (std::size_t j = 0; j < d; ++j) mean[j] += statistics.class_sums()(row, j);
  for (double& v : mean) v /= total;
  sums = Matrix<double>(classes, d);
  semantics = Matrix<double>(classes, m);
  mean_class.assign(m, 0.0);
  for (std::size_t p = 0; p < classes; ++p) {
    for (std::size_t j = 0; j < d; ++j) sums(p, j) = statistics.class_sums()(rows[p], j) - counts[p] * mean[j];
    std::ranges::copy(samples.semantics.row(rows[p]), semantics.row(p).begin());
    for (std::size_t j = 0; j < m; ++j) mean_class[j] += counts[p] * semantics(p, j);
  }
  for (double& v : mean_class) v /= total;
}

Matrix<double> centred_products(const SummedSamples& samples, const ClassMoments& moments) {
  Matrix<double> gram = samples.statistics.products();
  for (std::size_t i = 0; i < gram.rows(); ++i)
    for (std::size_t j = 0; j < gram.cols(); ++j) gram(i, j) -= moments.total * moments.mean[i] * moments.mean[j];
  return gram;
}

Matrix<double> solve_class_ridge(const SummedSamples& samples, const ClassMoments& moments, double lambda,
                                 const Matrix<double>& targets, ThreadPool& pool) {
  const Cholesky factor(pool, centred_products(samples, moments), lambda);
  const bool few_outputs = targets.cols() < moments.counts.size();
  Matrix<double> solved =
      few_outputs ? product(pool, Trans::yes, moments.sums, Trans::no, targets) : transposed(moments.sums);
  factor.solve(pool, solved.view());
  return few_outputs ? std::move(solved) : product(pool, Trans::no, solved, Trans::no, targets);
}

}  // namespace parsnets
