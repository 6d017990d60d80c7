#include "solvers/descent_loss.hpp"

#include <algorithm>
#include <cmath>

#include "base/exponentials.hpp"
#include "base/linalg.hpp"
#include "model/field_em.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/mmg.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRows = 512;  ///< of one piece of work

ClassSlots slots_of(const DescentSamples& samples) {
  SingleProcess alone;
  return {samples.labels, samples.semantics.rows(), samples.group != nullptr ? *samples.group : alone};
}

}  // namespace

LossOfOutputs::LossOfOutputs(const DescentSamples& samples, std::span<const float> centre,
                             const DescentOptions& options, ThreadPool& pool)
    : labels_(samples.labels),
      semantics_(samples.semantics),
      options_(options),
      pool_(pool),
      slots_(slots_of(samples)),
      weight_(static_cast<float>(1 / slots_.total())) {
  set_classes(samples.semantics, centre);
  if (options.loss != DescentLoss::squared) return;
  std::vector<double> mean(semantics_.cols(), 0.0);
  double squares = 0;
  for (std::size_t s = 0; s < slots_.classes().size(); ++s) {
    const auto a = semantics_.row(static_cast<std::size_t>(slots_.classes()[s]));
    const double weight = slots_.samples()[s] * static_cast<double>(weight_);
    for (std::size_t j = 0; j < a.size(); ++j) mean[j] += weight * static_cast<double>(a[j]);
    squares += weight * dot(a, a);
  }
  for (const double v : mean) squares -= v * v;
  variance_ = std::max(squares, 1e-30);
}

void LossOfOutputs::set_classes(MatrixView<const float> vectors, std::span<const float> centre) {
  centre_.assign(centre.begin(), centre.end());
  centre_.resize(vectors.cols(), 0.0f);
  const auto& seen = slots_.classes();
  directions_ = Matrix<float>(seen.size(), vectors.cols());
  for (std::size_t s = 0; s < seen.size(); ++s)
    std::ranges::copy(vectors.row(static_cast<std::size_t>(seen[s])), directions_.row(s).begin());
  unit_rows(directions_.view());
}

double LossOfOutputs::softmax_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin,
                                   std::size_t end, std::size_t first) const {
  const std::size_t rows = end - begin, m = f.cols(), classes = directions_.rows();
  const auto tau = static_cast<float>(options_.sharpness);
  Matrix<float> unit(rows, m), logits(rows, classes);
  std::vector<double> lengths(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto u = unit.row(r);
    for (std::size_t j = 0; j < m; ++j) u[j] = f(begin + r, j) - centre_[j];
    lengths[r] = std::sqrt(dot(u, u));
    const auto scale = static_cast<float>(lengths[r] > 0 ? 1 / lengths[r] : 0);
    for (float& v : u) v *= scale;
  }
  gemm(Trans::no, Trans::yes, rows, classes, m, tau, unit.data(), m, directions_.data(), m, 0, logits.data(), classes);
  double loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = logits.row(r);
    const std::size_t y = slots_.of(first + begin + r);
    const float top = *std::max_element(row.begin(), row.end()), own = row[y];
    const double sum = exponentials(1, top, row);
    loss += weight_ * (std::log(sum) + top - own);
    const auto scale = static_cast<float>(weight_ * tau / sum);
    for (float& v : row) v *= scale;
    row[y] -= weight_ * tau;
  }
  if (gradient.empty()) return loss;
  gemm(Trans::no, Trans::no, rows, m, classes, 1, logits.data(), classes, directions_.data(), m, 0,
       gradient.row(begin).data(), m);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto g = gradient.row(begin + r);
    const auto u = unit.row(r);
    const auto along = static_cast<float>(dot(g, u));
    const auto scale = static_cast<float>(lengths[r] > 0 ? 1 / lengths[r] : 0);
    for (std::size_t j = 0; j < m; ++j) g[j] = (g[j] - along * u[j]) * scale;
  }
  return loss;
}

double LossOfOutputs::squared_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin,
                                   std::size_t end, std::size_t first) const {
  double loss = 0;
  for (std::size_t l = begin; l < end; ++l) {
    const auto a = semantics_.row(static_cast<std::size_t>(labels_[first + l]));
    const double weight = weight_ / variance_;
    double squares = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double difference = static_cast<double>(f(l, j)) - a[j];
      squares += difference * difference;
      if (!gradient.empty()) gradient(l, j) = static_cast<float>(weight * difference);
    }
    loss += weight * squares / 2;
  }
  return loss;
}

LossOfOutputs::Value LossOfOutputs::evaluate(MatrixView<const float> f, MatrixView<float> gradient,
                                             std::size_t first) const {
  std::vector<double> sums(ThreadPool::chunk_count(f.rows(), kRows));
  pool_.parallel_for(f.rows(), kRows, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    sums[chunk] = options_.loss == DescentLoss::softmax ? softmax_rows(f, gradient, begin, end, first)
                                                        : squared_rows(f, gradient, begin, end, first);
  });
  Value value;
  for (const double sum : sums) value.loss += sum;
  if (options_.mmg == 0) return value;
  Matrix<float> centred = Matrix<float>::copy_of(f);
  for (std::size_t l = 0; l < f.rows(); ++l)
    for (std::size_t j = 0; j < f.cols(); ++j) centred(l, j) -= centre_[j];
  const MmgValue geometry = mmg_of_unit_rows(centred.view(), labels_, !gradient.empty(), pool_);
  value.mmg = geometry.value;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient.data()[i] += static_cast<float>(options_.mmg) * geometry.gradient.data()[i];
  return value;
}

double LossOfOutputs::centred_squares(MatrixView<const float> f) const {
  double squares = 0;
  std::vector<float> row(f.cols());
  for (std::size_t l = 0; l < f.rows(); ++l) {
    for (std::size_t j = 0; j < f.cols(); ++j) row[j] = f(l, j) - centre_[j];
    squares += dot(row, row);
  }
  return squares;
}

double LossOfOutputs::natural_step(double squares) const {
  if (options_.loss == DescentLoss::squared) return variance_ * slots_.total();
  return squares / options_.sharpness;  // n/τ times the mean squared length: f's own scale cancels
}

}  // namespace parsnets
