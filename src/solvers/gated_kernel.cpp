#include "solvers/gated_kernel.hpp"

#include <algorithm>
#include <cstring>

namespace parsnets {

namespace {

constexpr std::size_t kPanelGrain = 512;  // rows of a panel that one thread multiplies at a time
constexpr std::size_t kTile = 256;        // rows of a panel that one thread computes at a time

}  // namespace

std::size_t column_grain(std::size_t columns) {
  const std::size_t pieces = 2 * std::max<std::size_t>((columns + 63) / 64, 1);
  return std::max<std::size_t>(1, ((columns + pieces - 1) / pieces + 15) / 16) * 16;  // whole vectors
}

GatedKernel::GatedKernel(const GatedSamples& samples, const std::vector<std::size_t>& order, std::size_t block,
                         SvrForm form, ThreadPool& pool, ProgressObserver* progress)
    : n_(samples.z.rows()),
      width_(samples.z.cols() + 1),
      networks_(samples.networks),
      block_(block),
      form_(form),
      pool_(pool),
      z_(network_inputs(samples.z, order)),
      gates_(n_, networks_, 0.0f),
      diagonal_(n_) {
  std::vector<double> feature_sum(networks_ * width_, 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    double square = 0;
    for (float v : z_.row(i)) square += static_cast<double>(v) * v;
    diagonal_[i] = static_cast<float>(square * static_cast<double>(samples.open.cols()));
    for (std::uint16_t g : samples.open.row(order[i])) {
      gates_(i, g) = 1;
      double* sum = feature_sum.data() + g * width_;
      for (std::size_t c = 0; c < width_; ++c) sum[c] += z_(i, c);
    }
  }
  // 1ᵀT1 = ‖Σ Φ(x)‖²
  for (double s : feature_sum) mean_ += s * s;
  mean_ /= static_cast<double>(n_) * static_cast<double>(n_);
  if (form_ == SvrForm::stored_kernel) store(progress);
  if (form_ == SvrForm::recomputed_kernel) panels_ = Matrix<float>(2 * n_, block_);
}

double GatedKernel::bytes_needed(std::size_t n, std::size_t h, std::size_t networks, std::size_t block, SvrForm form) {
  const double rows = static_cast<double>(n);
  const double samples =
      4 * rows * static_cast<double>(h + 1 + networks + 1) + 8 * static_cast<double>(networks * (h + 1));
  return samples + (form == SvrForm::stored_kernel ? 4 * rows * rows : 8 * rows * static_cast<double>(block));
}

void GatedKernel::tile(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns, float* out,
                       float* scratch) const {
  gemm(Trans::no, Trans::yes, rows, columns, width_, 1, z_.row(row).data(), width_, z_.row(column).data(), width_, 0,
       out, columns);
  gemm(Trans::no, Trans::yes, rows, columns, networks_, 1, gates_.row(row).data(), networks_, gates_.row(column).data(),
       networks_, 0, scratch, columns);
  for (std::size_t i = 0; i < rows * columns; ++i) out[i] *= scratch[i];
}

void GatedKernel::store(ProgressObserver* progress) {
  panels_ = Matrix<float>(n_, n_);
  const double tile_flops = 2.0 * static_cast<double>(width_ + networks_);
  for (std::size_t c = 0; c < blocks(); ++c) {
    report(progress, {"kernel", c, blocks(), "blocks"});
    // Each off-diagonal tile lies at two places; the second serves as scratch before it gets the transpose.
    pool_.parallel_for(blocks() - c, 1, [&](std::size_t first, std::size_t, std::size_t) {
      const std::size_t r = c + first, rows = size(r), columns = size(c);
      float* out = stored(c) + begin(r) * columns;
      if (r == c) {
        Matrix<float> scratch(rows, columns);
        tile(begin(r), rows, begin(c), columns, out, scratch.data());
      } else {
        float* mirror = stored(r) + begin(c) * rows;
        tile(begin(r), rows, begin(c), columns, out, mirror);
        for (std::size_t i = 0; i < columns; ++i)
          for (std::size_t j = 0; j < rows; ++j) mirror[i * rows + j] = out[j * columns + i];
      }
    });
    const double entries = static_cast<double>(size(c)) * static_cast<double>(n_ - begin(c));
    count(entries * tile_flops, 8 * entries);
  }
}

void GatedKernel::diagonal_block(std::size_t b, float* out) const {
  const std::size_t n = size(b);
  if (form_ == SvrForm::stored_kernel) {
    std::memcpy(out, panels_.data() + n_ * begin(b) + begin(b) * n, n * n * sizeof(float));
    return;
  }
  // Rows are computed by one thread each chunk; the tile is small enough for the cache either way.
  Matrix<float> scratch(n, n);
  pool_.parallel_for(n, 64, [&](std::size_t first, std::size_t last, std::size_t) {
    tile(begin(b) + first, last - first, begin(b), n, out + first * n, scratch.data() + first * n);
  });
}

const float* GatedKernel::panel(std::size_t b) {
  if (form_ == SvrForm::stored_kernel) return stored(b);
  const std::size_t n = size(b);
  float *out = panels_.data(), *scratch = panels_.data() + n_ * block_;
  pool_.parallel_for(n_, kTile, [&](std::size_t first, std::size_t last, std::size_t) {
    tile(first, last - first, begin(b), n, out + first * n, scratch + first * n);
  });
  const double entries = static_cast<double>(n) * static_cast<double>(n_);
  count(2 * entries * static_cast<double>(width_ + networks_), 8 * entries);
  return out;
}

Matrix<float> GatedKernel::whole() const {
  Matrix<float> all(n_, n_);
  for (std::size_t b = 0; b < blocks(); ++b)
    for (std::size_t i = 0; i < n_; ++i)
      std::copy_n(panels_.data() + n_ * begin(b) + i * size(b), size(b), &all(i, begin(b)));
  return all;
}

void GatedKernel::commit(std::size_t b, const float* delta, MatrixView<float> values) {
  const std::size_t n = size(b), m = values.cols();
  const float* t = panel(b);
  pool_.parallel_for(n_, kPanelGrain, [&](std::size_t first, std::size_t last, std::size_t) {
    gemm(Trans::no, Trans::no, last - first, m, n, 1, t + first * n, n, delta, m, 1, values.row(first).data(), m);
  });
  const double rows = static_cast<double>(n_);
  count(2 * rows * static_cast<double>(n * m), 4 * rows * static_cast<double>(n + 2 * m));
}

}  // namespace parsnets
