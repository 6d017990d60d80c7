#include "solvers/preconditioner.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "solvers/gated_kernel.hpp"

namespace parsnets {

namespace {

/// (A + ridge·I)⁻¹ of a symmetric positive semi-definite matrix.
Matrix<float> ridge_inverse(MatrixView<const float> a, double ridge, ThreadPool& pool) {
  const Cholesky<double> factor(pool, to_double(a), ridge);
  Matrix<double> identity(a.rows(), a.rows(), 0.0);
  for (std::size_t i = 0; i < a.rows(); ++i) identity(i, i) = 1;
  factor.solve(pool, identity.view());
  return to_float(identity.view());
}

void gemm(Trans transpose_a, MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c, float alpha,
          float beta) {
  parsnets::gemm(transpose_a, Trans::no, c.rows(), c.cols(), b.rows(), alpha, a.data(), a.cols(), b.data(), b.cols(),
                 beta, c.data(), c.cols());
}

/// For each network the samples of a block for which it is open.
std::vector<std::vector<std::size_t>> members_of(const SampleBlock& block, std::size_t networks) {
  std::vector<std::vector<std::size_t>> members(networks);
  for (std::size_t l = 0; l < block.open.rows(); ++l)
    for (const auto i : block.open.row(l)) members[i].push_back(l);
  return members;
}

}  // namespace

Cholesky<float> ridge_preconditioner(MatrixView<const float> products, double lambda, ThreadPool& pool) {
  double trace = 0;
  for (std::size_t i = 0; i < products.rows(); ++i) trace += products(i, i);
  const double ridge = lambda * std::max(trace, 1e-12) / static_cast<double>(products.rows());
  return {pool, Matrix<float>::copy_of(products), ridge};
}

GatedDirection::GatedDirection(const SampleBlocks& blocks, std::size_t networks, double lambda, Processes& group,
                               ThreadPool& pool)
    : inverses_(networks) {
  double sums[2] = {0, 0};  // squares of z, samples
  std::vector<std::uint64_t> sizes(networks, 0);
  blocks([&](const SampleBlock& block) {
    for (std::size_t l = 0; l < block.z.rows(); ++l) sums[0] += dot(block.z.row(l), block.z.row(l));
    sums[1] += static_cast<double>(block.z.rows());
    if (width_ == 0) {
      width_ = block.z.cols() + 1;
      open_ = block.open.cols();
      for (Matrix<float>& gram : inverses_) gram = Matrix<float>(width_, width_, 0.0f);
    }
    const auto members = members_of(block, networks);
    pool.parallel_for(networks, 1, [&](std::size_t i, std::size_t, std::size_t) {
      if (members[i].empty()) return;
      const Matrix<float> own = network_inputs(block.z, members[i]);
      gemm(Trans::yes, own.view(), own.view(), inverses_[i].view(), 1, 1);
      sizes[i] += members[i].size();
    });
  });
  group.sum(std::span<double>(sums));
  for (Matrix<float>& gram : inverses_) group.sum(gram.values());
  group.sum(std::span<std::uint64_t>(sizes));
  const double mean_square = std::max(sums[0], 1e-12) / (sums[1] * static_cast<double>(width_ - 1));
  constant_ = static_cast<float>(std::sqrt(mean_square));
  const double mean_eigenvalue = mean_square * (sums[1] * static_cast<double>(open_)) / static_cast<double>(networks);
  pool.parallel_for(networks, 1, [&](std::size_t i, std::size_t, std::size_t) {
    Matrix<float>& gram = inverses_[i];
    for (float& v : gram.row(0)) v *= constant_;
    for (std::size_t a = 0; a < width_; ++a) gram(a, 0) *= constant_;
    ThreadPool caller(1);
    gram = sizes[i] == 0 ? Matrix<float>() : ridge_inverse(gram.view(), lambda * mean_eigenvalue, caller);
  });
}

void GatedDirection::add_moments(const SampleBlock& block, MatrixView<const float> gradient,
                                 MatrixView<const float> networks, bool relu, MatrixView<float> moments,
                                 ThreadPool& pool) const {
  const std::size_t m = gradient.cols();
  const auto members = members_of(block, inverses_.size());
  pool.parallel_for(members.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
    const auto& rows = members[i];
    if (rows.empty()) return;
    const Matrix<float> own = network_inputs(block.z, rows);
    Matrix<float> g(rows.size(), m);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy(gradient.row(rows[r]).begin(), gradient.row(rows[r]).end(), g.row(r).begin());
    if (relu) {
      Matrix<float> output(rows.size(), m);
      gemm(Trans::no, own.view(), {networks.row(i * width_).data(), width_, m}, output.view(), 1, 0);
      for (std::size_t v = 0; v < g.size(); ++v)
        if (output.data()[v] < 0) g.data()[v] = 0;
    }
    gemm(Trans::yes, own.view(), g.view(), {moments.row(i * width_).data(), width_, m}, 1, 1);
  });
}

Matrix<float> GatedDirection::direction(MatrixView<const float> moments, double weight, double decay,
                                        MatrixView<const float> networks, ThreadPool& pool) const {
  const std::size_t m = moments.cols();
  Matrix<float> out(moments.rows(), m, 0.0f);
  pool.parallel_for(inverses_.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
    if (inverses_[i].empty()) return;
    Matrix<float> moment = Matrix<float>::copy_of({moments.row(i * width_).data(), width_, m});
    if (decay > 0) {
      const float* theta = networks.row(i * width_).data();
      for (std::size_t v = 0; v < moment.size(); ++v) moment.data()[v] += static_cast<float>(decay) * theta[v];
    }
    for (float& v : moment.row(0)) v *= constant_;
    gemm(Trans::no, inverses_[i].view(), moment.view(), {out.row(i * width_).data(), width_, m},
         static_cast<float>(weight / static_cast<double>(open_)), 0);
    for (float& v : out.row(i * width_)) v *= constant_;
  });
  return out;
}

}  // namespace parsnets
