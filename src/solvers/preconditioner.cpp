#include "solvers/preconditioner.hpp"

#include <algorithm>

#include "base/linalg.hpp"

namespace parsnets {

Matrix<float> ridge_inverse(MatrixView<const float> a, double ridge, ThreadPool& pool) {
  const Cholesky factor(pool, to_double(a), ridge);
  Matrix<double> identity(a.rows(), a.rows(), 0.0);
  for (std::size_t i = 0; i < a.rows(); ++i) identity(i, i) = 1;
  factor.solve(pool, identity.view());
  return to_float(identity.view());
}

namespace {

double ridge_of(MatrixView<const float> gram, double lambda, std::size_t dimensions) {
  double trace = 0;
  for (std::size_t i = 0; i < gram.rows(); ++i) trace += gram(i, i);
  return lambda * std::max(trace, 1e-12) / static_cast<double>(dimensions);
}

}  // namespace

RidgePreconditioner::RidgePreconditioner(MatrixView<const float> x, double lambda, ThreadPool& pool)
    : x_(x), primal_(x.cols() <= x.rows()) {
  Matrix<float> gram;
  if (primal_) {
    gram = gram_of_columns(pool, x);
  } else {
    gram = Matrix<float>(x.rows(), x.rows());
    multiply(pool, Trans::no, x, Trans::yes, x, gram.view());
  }
  ridge_ = ridge_of(gram.view(), lambda, x.cols());
  inverse_ = ridge_inverse(gram.view(), ridge_, pool);
}

RidgePreconditioner RidgePreconditioner::of_products(MatrixView<const float> products, double lambda,
                                                     ThreadPool& pool) {
  return RidgePreconditioner(ridge_inverse(products, ridge_of(products, lambda, products.rows()), pool));
}

Matrix<float> RidgePreconditioner::direction_of_moments(MatrixView<const float> moments, double decay,
                                                        MatrixView<const float> weights, ThreadPool& pool) const {
  Matrix<float> out(moments.rows(), moments.cols());
  Matrix<float> decayed;
  if (decay > 0) {
    decayed = Matrix<float>::copy_of(moments);
    for (std::size_t i = 0; i < decayed.size(); ++i) decayed.data()[i] += static_cast<float>(decay) * weights.data()[i];
    moments = decayed.view();
  }
  multiply(pool, Trans::no, inverse_.view(), Trans::no, moments, out.view());
  return out;
}

Matrix<float> RidgePreconditioner::direction(MatrixView<const float> gradient, double decay,
                                             MatrixView<const float> weights, ThreadPool& pool) const {
  Matrix<float> inner(inverse_.rows(), gradient.cols()), out(x_.cols(), gradient.cols());
  // (XᵀX + λI)⁻¹(XᵀG + ρW) = Xᵀ(XXᵀ + λI)⁻¹(G − ρXW/λ) + ρW/λ
  const auto share = static_cast<float>(decay / ridge_);
  Matrix<float> target = Matrix<float>::copy_of(gradient);
  if (decay > 0) multiply(pool, Trans::no, x_, Trans::no, weights, target.view(), -share, 1);
  multiply(pool, Trans::no, inverse_.view(), Trans::no, target.view(), inner.view());
  multiply(pool, Trans::yes, x_, Trans::no, inner.view(), out.view());
  if (decay > 0)
    for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] += share * weights.data()[i];
  return out;
}

}  // namespace parsnets
