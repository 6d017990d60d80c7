#include "solvers/class_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// A d x d matrix of value(i, j) for j <= i; what is above the diagonal is not defined.
template <class T, class Value>
Matrix<T> lower_triangle(ThreadPool& pool, std::size_t d, const Value& value) {
  Matrix<T> a(d, d);
  pool.parallel_for(d, 64, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j <= i; ++j) a(i, j) = static_cast<T>(value(i, j));
  });
  return a;
}

/// The lower triangle of to += factor·Σ_c w_c·r_c r_cᵀ over the rows r_c.
template <class T>
void add_products(ThreadPool& pool, T factor, const Matrix<T>& rows, const std::vector<double>& weights,
                  Matrix<T>& to) {
  Matrix<T> weighted = Matrix<T>::copy_of(rows.view());
  for (std::size_t c = 0; c < rows.rows(); ++c)
    for (T& v : weighted.row(c)) v = static_cast<T>(v * weights[c]);
  multiply_lower(pool, rows.view(), weighted.view(), to.view(), factor, 1);
}

}  // namespace

ClassSpace::ClassSpace(const Statistics& s, ThreadPool& pool, std::span<const float> factor)
    : mean_(s.dimensions(), 0.0), total_(s.weight()) {
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
  within_ = lower_triangle<double>(pool, d, [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (const auto& products : s.group_products()) sum += products(i, j);
    return sum * (1 / total_);
  });
  add_products(pool, -1 / total_, centred_, weights_, within_);
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
  double trace = 0, between = 0;
  for (std::size_t j = 0; j < within_.rows(); ++j) trace += within_(j, j);
  for (const double v : centred_.values()) between += v * v / static_cast<double>(centred_.rows());
  trace = std::max(trace, 1e-3 * between);  // classes of one sample, or of equal ones, have no spread but for rounding
  return rho * std::max(trace, 1e-30) / static_cast<double>(within_.rows());
}

ClassMap ClassSpace::solve(double rho, ThreadPool& pool) const {
  constexpr double kNegligible = 1e-9;
  const std::size_t count = classes_.size();
  const auto within = [&](std::size_t i, std::size_t j) { return within_(i, j); };
  const Cholesky<double> factor(pool, lower_triangle<double>(pool, within_.rows(), within), ridge(rho));
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

Matrix<float> ClassSpace::around_mean(double within, ThreadPool& pool) const {
  Matrix<float> sum =
      lower_triangle<float>(pool, within_.rows(), [&](std::size_t i, std::size_t j) { return within * within_(i, j); });
  add_products(pool, 1.0f, to_float(centred_.view()), weights_, sum);
  return sum;
}

Matrix<float> ClassSpace::products(ThreadPool& pool) const {
  Matrix<float> whole = around_mean(total_, pool);
  mirror_lower(pool, whole.view());
  return whole;
}

Cholesky<float> ClassSpace::preconditioner(double rho, ThreadPool& pool) const {
  return {pool, around_mean(2 * total_, pool), total_ * ridge(rho)};
}

}  // namespace parsnets
