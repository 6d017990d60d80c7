#include "solvers/class_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// The lower triangle of to = scale·to + factor·Σ_c w_c·r_c r_cᵀ over the rows r_c.
void add_products(ThreadPool& pool, double factor, const Matrix<double>& rows, const std::vector<double>& weights,
                  double scale, Matrix<double>& to) {
  Matrix<double> weighted = Matrix<double>::copy_of(rows.view());
  for (std::size_t c = 0; c < rows.rows(); ++c)
    for (double& v : weighted.row(c)) v *= weights[c];
  multiply_lower(pool, rows.view(), weighted.view(), to.view(), factor, scale);
}

}  // namespace

ClassSpace::ClassSpace(const Statistics& s, ThreadPool& pool, std::span<const float> factor)
    : mean_(s.dimensions(), 0.0), total_(s.weight()), within_(s.products()) {
  const std::size_t d = s.dimensions();
  for (std::size_t c = 0; c < s.class_names().size(); ++c)
    if (s.class_weights()[c] > 0) {
      classes_.push_back(static_cast<std::int32_t>(c));
      weights_.push_back(s.class_weights()[c]);
    }
  if (classes_.size() < 2)
    throw Error(BadInput{"statistics", "classes", "samples of at least two classes",
                         fmt::format("samples of {}", classes_.size()), "add samples of other classes"});
  centred_ = Matrix<double>(classes_.size(), d);
  for (std::size_t p = 0; p < classes_.size(); ++p) {
    const auto sum = s.class_sums().row(static_cast<std::size_t>(classes_[p]));
    for (std::size_t j = 0; j < d; ++j) {
      mean_[j] += sum[j] / total_;
      centred_(p, j) = sum[j] / weights_[p];
    }
  }
  add_products(pool, -1 / total_, centred_, weights_, 1 / total_, within_);
  for (std::size_t p = 0; p < centred_.rows(); ++p)
    for (std::size_t j = 0; j < d; ++j) centred_(p, j) -= mean_[j];
  if (factor.empty()) return;
  for (std::size_t p = 0; p < centred_.rows(); ++p)
    for (std::size_t j = 0; j < d; ++j) centred_(p, j) *= factor[j];
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j <= i; ++j) within_(i, j) *= static_cast<double>(factor[i]) * factor[j];
}

double ClassSpace::ridge(double rho) const {
  if (!(rho > 0)) throw Error(ErrorCode::usage, fmt::format("class space: expected a positive rho, found {}", rho));
  double trace = 0;
  for (std::size_t j = 0; j < within_.rows(); ++j) trace += within_(j, j);
  for (const double v : centred_.values()) trace += 1e-12 * v * v;  // one sample per class has no spread at all
  return rho * std::max(trace, 1e-30) / static_cast<double>(within_.rows());
}

ClassMap ClassSpace::solve(double rho, ThreadPool& pool) const {
  constexpr double kNegligible = 1e-9;
  const std::size_t count = classes_.size();
  const Cholesky factor(pool, Matrix<double>::copy_of(within_.view()), ridge(rho));
  Matrix<double> solved = transposed(centred_);  // C⁻¹Mᵀ
  factor.solve(pool, solved.view());
  Matrix<double> gram = product(pool, Trans::no, centred_, Trans::no, solved);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < a; ++b) gram(a, b) = gram(b, a) = (gram(a, b) + gram(b, a)) / 2;
  const EigenPairs pairs = largest_eigenpairs(gram.view());
  std::size_t axes = 0;
  while (axes < count && pairs.values[axes] > std::max(kNegligible * pairs.values[0], 1e-300)) ++axes;
  if (axes == 0)
    throw Error(BadInput{"the data set", "features", "classes whose means differ", "the same mean for every class",
                         "check the features and the labels"});
  Matrix<double> basis(axes, count);  // rows q_i·λ_i^(−1/2)
  ClassMap map{{}, Matrix<double>(count, axes)};
  for (std::size_t i = 0; i < axes; ++i) {
    const double root = std::sqrt(pairs.values[i]);
    for (std::size_t p = 0; p < count; ++p) {
      basis(i, p) = pairs.vectors(i, p) / root;
      map.means(p, i) = pairs.vectors(i, p) * root;
    }
  }
  map.weights = to_float(product(pool, Trans::no, solved, Trans::yes, basis).view());
  return map;
}

Matrix<float> ClassSpace::products(ThreadPool& pool) const {
  Matrix<double> sum = Matrix<double>::copy_of(within_.view());
  add_products(pool, 1, centred_, weights_, total_, sum);
  Matrix<float> whole = to_float(sum.view());
  mirror_lower(pool, whole.view());
  return whole;
}

Matrix<float> ClassSpace::preconditioner(double rho, ThreadPool& pool) const {
  Matrix<double> system = Matrix<double>::copy_of(within_.view());
  add_products(pool, 1, centred_, weights_, 2 * total_, system);
  const double diagonal = total_ * ridge(rho);
  for (std::size_t j = 0; j < system.rows(); ++j) system(j, j) += diagonal;
  return inverse_of_positive(pool, to_float(system.view()));
}

}  // namespace parsnets
