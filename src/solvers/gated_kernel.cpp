#include "solvers/gated_kernel.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstring>

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 512;  // rows of a panel that one thread multiplies at a time
constexpr std::size_t kTile = 256;      // rows of a panel that one thread computes at a time

int to_int(std::size_t v) { return static_cast<int>(v); }

}  // namespace

std::size_t column_grain(std::size_t columns) {
  const std::size_t pieces = 2 * ((columns + 79) / 80);
  return std::max<std::size_t>(8, (columns + pieces - 1) / std::max<std::size_t>(pieces, 1) + 7) / 8 * 8;
}

GatedKernel::GatedKernel(const GatedSamples& samples, const std::vector<std::size_t>& order, std::size_t block,
                         SvrForm form, ThreadPool& pool, ProgressObserver* progress)
    : n_(samples.z.rows()),
      width_(samples.z.cols() + 1),
      networks_(samples.networks),
      block_(block),
      form_(form),
      pool_(pool),
      z_(n_, width_),
      gates_(n_, networks_, 0.0f),
      diagonal_(n_) {
  std::vector<double> feature_sum(networks_ * width_, 0.0);
  for (std::size_t i = 0; i < n_; ++i) {
    const auto source = samples.z.row(order[i]);
    z_(i, 0) = 1;
    std::copy(source.begin(), source.end(), z_.row(i).begin() + 1);
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
  if (form_ == SvrForm::primal) group(samples, order);
}

double GatedKernel::bytes_needed(std::size_t n, std::size_t h, std::size_t networks, std::size_t open,
                                 std::size_t block, SvrForm form) {
  const double rows = static_cast<double>(n);
  const double samples =
      4 * rows * static_cast<double>(h + 1 + networks + 1) + 8 * static_cast<double>(networks * (h + 1));
  if (form == SvrForm::stored_kernel) return samples + 4 * rows * rows;
  if (form == SvrForm::recomputed_kernel) return samples + 8 * rows * static_cast<double>(block);
  return samples + 4 * rows * static_cast<double>(open) +
         40 * rows / static_cast<double>(block) * static_cast<double>(networks);
}

void GatedKernel::tile(std::size_t row, std::size_t rows, std::size_t column, std::size_t columns, float* out,
                       float* scratch) const {
  const int r = to_int(rows), c = to_int(columns), w = to_int(width_), k = to_int(networks_);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, r, c, w, 1, z_.data() + row * width_, w,
              z_.data() + column * width_, w, 0, out, c);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, r, c, k, 1, gates_.data() + row * networks_, k,
              gates_.data() + column * networks_, k, 0, scratch, c);
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

void GatedKernel::group(const GatedSamples& samples, const std::vector<std::size_t>& order) {
  groups_.resize(blocks());
  for (std::size_t b = 0; b < blocks(); ++b) {
    std::vector<std::vector<std::uint32_t>> rows(networks_);
    for (std::size_t i = 0; i < size(b); ++i)
      for (std::uint16_t g : samples.open.row(order[begin(b) + i])) rows[g].push_back(static_cast<std::uint32_t>(i));
    for (std::size_t g = 0; g < networks_; ++g)
      if (!rows[g].empty()) groups_[b].push_back({static_cast<std::uint32_t>(g), std::move(rows[g])});
  }
}

Matrix<float> GatedKernel::gather(const Group& g, std::size_t first) const {
  Matrix<float> z(g.rows.size(), width_);
  for (std::size_t i = 0; i < g.rows.size(); ++i)
    std::copy_n(z_.data() + (first + g.rows[i]) * width_, width_, z.data() + i * width_);
  return z;
}

void GatedKernel::commit(std::size_t b, const float* delta, MatrixView<float> state) {
  const std::size_t n = size(b), m = state.cols();
  if (form_ != SvrForm::primal) {
    const float* t = panel(b);
    pool_.parallel_for(n_, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_int(last - first), to_int(m), to_int(n), 1,
                  t + first * n, to_int(n), delta, to_int(m), 1, state.data() + first * m, to_int(m));
    });
    const double rows = static_cast<double>(n_);
    count(2 * rows * static_cast<double>(n * m), 4 * rows * static_cast<double>(n + 2 * m));
    return;
  }
  const auto& groups = groups_[b];
  pool_.parallel_for(groups.size(), 1, [&](std::size_t index, std::size_t, std::size_t) {
    const Group& g = groups[index];
    const Matrix<float> z = gather(g, begin(b));
    Matrix<float> d(g.rows.size(), m);
    for (std::size_t i = 0; i < g.rows.size(); ++i) std::copy_n(delta + g.rows[i] * m, m, d.data() + i * m);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, to_int(width_), to_int(m), to_int(g.rows.size()), 1, z.data(),
                to_int(width_), d.data(), to_int(m), 1, state.data() + g.network * width_ * m, to_int(m));
  });
  double active = 0;
  for (const Group& g : groups) active += static_cast<double>(g.rows.size());
  count(2 * active * static_cast<double>(width_ * m), 8.0 * static_cast<double>(groups.size() * width_ * m));
}

void GatedKernel::block_values(std::size_t b, MatrixView<const float> state, float* out) {
  const std::size_t n = size(b), m = state.cols();
  if (form_ != SvrForm::primal) {
    std::memcpy(out, state.data() + begin(b) * m, n * m * sizeof(float));
    return;
  }
  const auto& groups = groups_[b];
  pool_.parallel_for(m, 2 * column_grain(m), [&](std::size_t first, std::size_t last, std::size_t) {
    const std::size_t w = last - first;
    for (std::size_t i = 0; i < n; ++i) std::fill_n(out + i * m + first, w, 0.0f);
    Matrix<float> part(n, w);
    for (const Group& g : groups) {
      const Matrix<float> z = gather(g, begin(b));
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, to_int(g.rows.size()), to_int(w), to_int(width_), 1,
                  z.data(), to_int(width_), state.data() + g.network * width_ * m + first, to_int(m), 0, part.data(),
                  to_int(w));
      for (std::size_t i = 0; i < g.rows.size(); ++i) {
        float* target = out + g.rows[i] * m + first;
        for (std::size_t j = 0; j < w; ++j) target[j] += part(i, j);
      }
    }
  });
  double active = 0;
  for (const Group& g : groups) active += static_cast<double>(g.rows.size());
  count(2 * active * static_cast<double>(width_ * m), 4.0 * static_cast<double>(groups.size() * width_ * m));
}

}  // namespace parsnets
