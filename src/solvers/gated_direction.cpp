#include "solvers/gated_direction.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "solvers/preconditioner.hpp"

namespace parsnets {

namespace {

void gemm(bool transpose_a, MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c,
          float alpha = 1) {
  cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, CblasNoTrans, static_cast<int>(c.rows()),
              static_cast<int>(c.cols()), static_cast<int>(b.rows()), alpha, a.data(), static_cast<int>(a.cols()),
              b.data(), static_cast<int>(b.cols()), 0, c.data(), static_cast<int>(c.cols()));
}

}  // namespace

GatedDirection::GatedDirection(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks,
                               double lambda, ThreadPool& pool)
    : z_(z), open_(open.cols()), members_(networks), inverses_(networks) {
  for (std::size_t l = 0; l < open.rows(); ++l)
    for (const auto i : open.row(l)) members_[i].push_back(static_cast<std::uint32_t>(l));
  double squares = 0;
  for (std::size_t l = 0; l < z.rows(); ++l) squares += dot(z.row(l), z.row(l));
  const double mean_square = std::max(squares, 1e-12) / static_cast<double>(z.size());
  constant_ = static_cast<float>(std::sqrt(mean_square));
  const double mean_eigenvalue = mean_square * static_cast<double>(z.rows() * open_) / static_cast<double>(networks);
  pool.parallel_for(networks, 1, [&](std::size_t i, std::size_t, std::size_t) {
    if (members_[i].empty()) return;
    const Matrix<float> own = gather(i);
    Matrix<float> gram(own.cols(), own.cols());
    gemm(true, own.view(), own.view(), gram.view());
    ThreadPool caller(1);
    inverses_[i] = ridge_inverse(gram.view(), lambda * mean_eigenvalue, caller);
  });
}

Matrix<float> GatedDirection::gather(std::size_t network) const {
  const auto& rows = members_[network];
  Matrix<float> own(rows.size(), z_.cols() + 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    own(r, 0) = constant_;
    std::copy(z_.row(rows[r]).begin(), z_.row(rows[r]).end(), own.row(r).begin() + 1);
  }
  return own;
}

Matrix<float> GatedDirection::direction(MatrixView<const float> gradient, double weight, double decay,
                                        MatrixView<const float> networks, bool relu, ThreadPool& pool) const {
  const std::size_t width = z_.cols() + 1, m = gradient.cols();
  Matrix<float> out(members_.size() * width, m, 0.0f);
  pool.parallel_for(members_.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
    const auto& rows = members_[i];
    if (rows.empty()) return;
    const Matrix<float> own = gather(i);
    Matrix<float> g(rows.size(), m), moment(width, m);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy(gradient.row(rows[r]).begin(), gradient.row(rows[r]).end(), g.row(r).begin());
    Matrix<float> theta(width, m);
    if (relu || decay > 0) std::copy_n(networks.row(i * width).data(), theta.size(), theta.data());
    if (relu) {
      Matrix<float> output(rows.size(), m);
      for (float& v : theta.row(0)) v /= constant_;
      gemm(false, own.view(), theta.view(), output.view());
      for (std::size_t v = 0; v < g.size(); ++v)
        if (output.data()[v] < 0) g.data()[v] = 0;
      for (float& v : theta.row(0)) v *= constant_;
    }
    gemm(true, own.view(), g.view(), moment.view());
    if (decay > 0) {
      for (float& v : theta.row(0)) v *= constant_;  // the bias is c times its coordinate
      for (std::size_t v = 0; v < moment.size(); ++v) moment.data()[v] += static_cast<float>(decay) * theta.data()[v];
    }
    gemm(false, inverses_[i].view(), moment.view(), {out.row(i * width).data(), width, m},
         static_cast<float>(weight / static_cast<double>(open_)));
    for (float& v : out.row(i * width)) v *= constant_;
  });
  return out;
}

}  // namespace parsnets
