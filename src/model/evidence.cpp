#include "model/evidence.hpp"

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// The linear map from x to class space, d x p; empty: none.
MatrixView<const float> linear_map(const Model& model) {
  if (!model.shared.empty()) return model.shared.view();
  if (model.gates.networks != 1 || model.networks_see_encoding || model.relu) return {};
  return {model.networks.row(1).data(), model.dimensions, model.networks.cols()};
}

}  // namespace

void require_evidence(const Model& model) {
  if (model.direction != Direction::forward || model.similarity != Similarity::cosine)
    throw Error(ErrorCode::usage,
                "unknown samples: expected a model that predicts class vectors and compares them by cosine; train it "
                "with another method or similarity");
}

LinearSpan::LinearSpan(const Model& model, ThreadPool& pool) {
  require_evidence(model);
  const MatrixView<const float> map = linear_map(model);
  const std::size_t p = model.outputs();
  if (map.empty() || p >= map.rows()) return;
  Matrix<float> products(p, p);
  multiply(pool, Trans::yes, map, Trans::no, map, products.view(), 1, 0);
  const EigenPairs pairs = largest_eigenpairs(to_double(products.view()).view());
  constexpr double kSmallest = 1e-6;  // of the largest: below, float32 sums say nothing
  const auto rank = static_cast<std::size_t>(std::ranges::count_if(
      pairs.values, [&](double value) { return value > kSmallest * pairs.values[0] && value > 0; }));
  basis_ = Matrix<float>(rank, p);
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < p; ++j)
      basis_(i, j) = static_cast<float>(pairs.vectors(i, j) / std::sqrt(pairs.values[i]));
  offset_ = model.bias;
  if (model.shared.empty())
    for (std::size_t j = 0; j < p; ++j) offset_[j] += model.networks(0, j);
  for (std::size_t i = 0; i < rank; ++i) along_offset_.push_back(dot(basis_.row(i), std::span<const float>(offset_)));
}

void LinearSpan::measure(std::span<const float* const> x, std::size_t dimensions, std::span<float* const> f,
                         std::vector<float>& outside) const {
  outside.assign(x.size(), 0.0f);
  if (basis_.empty()) return;
  for (std::size_t r = 0; r < x.size(); ++r) {
    const double all = dot(std::span(x[r], dimensions), std::span(x[r], dimensions));
    if (!(all > 0)) continue;
    double inside = 0;
    for (std::size_t i = 0; i < basis_.rows(); ++i) {
      const double along = dot(basis_.row(i), std::span<const float>(f[r], basis_.cols())) - along_offset_[i];
      inside += along * along;
    }
    outside[r] = static_cast<float>(std::max(0.0, 1 - inside / all));
  }
}

void lengths_in_class_space(const Model& model, std::span<const float* const> f, std::vector<float>& lengths) {
  const std::size_t p = model.outputs();
  lengths.resize(f.size());
  for (std::size_t r = 0; r < f.size(); ++r) {
    double square = 0;
    for (std::size_t j = 0; j < p; ++j) {
      const double v = f[r][j] - (model.semantic_centre.empty() ? 0.0f : model.semantic_centre[j]);
      square += v * v;
    }
    lengths[r] = static_cast<float>(std::sqrt(square));
  }
}

Evidence evidence_of(const Ranking& ranking, const PreparedClasses& classes, const RankedClass& best, float length,
                     std::size_t p, float outside) {
  const float cosine = std::clamp(best.score + ranking.penalty(best.class_index), -1.0f, 1.0f),
              place = classes.lengths.empty() ? 1.0f : classes.lengths[static_cast<std::size_t>(best.class_index)],
              root = std::sqrt(static_cast<float>(p));
  const double mean = 1 / (static_cast<double>(best.confidence) * static_cast<double>(ranking.candidates().size()));
  Evidence evidence;
  evidence.score = best.score;
  evidence.energy = static_cast<float>(best.score + ranking.temperature() * std::log(mean));
  evidence.length = length / root;
  evidence.distance = length * std::sqrt(1 - cosine * cosine) / root;
  evidence.outside = outside;
  evidence.fit = place > 0 ? length * cosine / place : 0.0f;
  return evidence;
}

}  // namespace parsnets
