#include "eval/no_class_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/mapped_rows.hpp"
#include "base/rng.hpp"
#include "base/row_blocks.hpp"

namespace parsnets {

namespace {

/// Of all features of all samples.
struct Overall {
  float least = 0, largest = 0;
  double mean = 0, sd = 0;
};

Overall overall(const Matrix<float>& features, std::span<const std::int32_t> rows) {
  const double first = features(static_cast<std::size_t>(rows[0]), 0);
  Overall out{static_cast<float>(first), static_cast<float>(first), 0, 0};
  double sum = 0, squares = 0;  // of differences from the first value, so that a large mean loses no digits
  for_each_block(blocks_of(features, rows), [&](std::size_t, MatrixView<const float> block) {
    for (const float v : block.values()) {
      out.least = std::min(out.least, v);
      out.largest = std::max(out.largest, v);
      sum += v - first;
      squares += (v - first) * (v - first);
    }
  });
  const auto n = static_cast<double>(rows.size() * features.cols());
  out.mean = first + sum / n;
  out.sd = std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
  return out;
}

/// `count` samples: each once where there are enough, else some more often.
Matrix<float> drawn(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count, Rng& rng) {
  std::vector<std::int32_t> order(rows.begin(), rows.end());
  rng.shuffle(order);
  std::vector<std::int32_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) chosen[i] = order[i % order.size()];
  std::ranges::sort(chosen);
  return gather_rows(features, chosen);
}

/// `share` of the way from the least to the largest feature.
float between(const Overall& all, double share) {
  return static_cast<float>(all.least + (static_cast<double>(all.largest) - all.least) * share);
}

float as_feature(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

}  // namespace

void visit_no_class_inputs(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count,
                           std::uint64_t seed, const NoClassVisitor& visit) {
  const std::size_t d = features.cols();
  const Overall all = overall(features, rows);
  Matrix<float> inputs(count, d);
  {
    Rng rng(seed, 1);
    for (float& v : inputs.values()) v = between(all, rng.uniform());
    visit("uniform", "uniform between the least and the largest feature", inputs.view());
  }
  {
    Rng rng(seed, 2);
    for (float& v : inputs.values()) v = as_feature(all.mean + all.sd * rng.normal());
    visit("gaussian", "Gaussian with the mean and the standard deviation of the features", inputs.view());
  }
  {
    Rng rng(seed, 3);
    inputs = drawn(features, rows, count, rng);
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t i = count; i > 1; --i) std::swap(inputs(i - 1, j), inputs(rng.below(i), j));
    visit("shuffled", "each feature of another test sample", inputs.view());
  }
  Rng rng(seed, 4);
  const Matrix<float> samples = drawn(features, rows, count, rng);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs.values()[i] = as_feature(samples.values()[i] * std::pow(10.0, 2 * rng.uniform() - 1));
  visit("scaled", "test samples, each feature times a factor of its own from 0.1 to 10", inputs.view());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs.values()[i] = as_feature(samples.values()[i] + 10 * all.sd * rng.normal());
  visit("far", "test samples plus Gaussian noise of 10 standard deviations", inputs.view());
  constexpr std::size_t kConstants = 9;
  Matrix<float> constants(kConstants, d);
  for (std::size_t i = 0; i < kConstants; ++i)
    std::ranges::fill(constants.row(i), between(all, static_cast<double>(i + 1) / kConstants));
  visit("constant", "all features equal: 9 steps above the least feature up to the largest", constants.view());
  visit("zero", "all features 0", Matrix<float>(1, d, 0.0f).view());
}

}  // namespace parsnets
