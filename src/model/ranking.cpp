#include "parsnets/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::vector<std::int32_t> classes_among(std::span<const std::uint8_t> seen, Among among) {
  std::vector<std::int32_t> found;
  for (std::size_t c = 0; c < seen.size(); ++c)
    if (among == Among::all || (among == Among::seen) == (seen[c] != 0)) found.push_back(static_cast<std::int32_t>(c));
  if (found.empty())
    throw Error(ErrorCode::usage, fmt::format("the model has no {}classes", among == Among::all    ? ""
                                                                            : among == Among::seen ? "seen "
                                                                                                   : "unseen "));
  return found;
}

}  // namespace

Ranking::Ranking(const Model& model, Among among)
    : Ranking(model.classes.seen, model.gamma, model.temperature, among) {}

Ranking::Ranking(std::span<const std::uint8_t> seen, double gamma, double temperature, Among among)
    : Ranking(seen, gamma, temperature, classes_among(seen, among)) {}

Ranking::Ranking(const Model& model, std::vector<std::int32_t> candidates)
    : Ranking(model.classes.seen, model.gamma, model.temperature, std::move(candidates)) {}

Ranking::Ranking(std::span<const std::uint8_t> seen, double gamma, double temperature,
                 std::vector<std::int32_t> candidates)
    : candidates_(std::move(candidates)), temperature_(temperature) {
  const auto count = static_cast<std::int32_t>(seen.size());
  std::ranges::sort(candidates_);
  if (candidates_.empty()) throw Error(ErrorCode::usage, "candidate classes: expected at least one, found none");
  if (candidates_.front() < 0 || candidates_.back() >= count)
    throw Error(ErrorCode::usage, fmt::format("candidate classes: expected numbers from 0 to {}, found {}", count - 1,
                                              candidates_.front() < 0 ? candidates_.front() : candidates_.back()));
  if (const auto twice = std::ranges::adjacent_find(candidates_); twice != candidates_.end())
    throw Error(ErrorCode::usage, fmt::format("candidate classes: class {} is listed twice", *twice));
  penalty_.reserve(seen.size());
  for (const auto one : seen) penalty_.push_back(one ? static_cast<float>(gamma) : 0.0f);
}

std::int32_t Ranking::winner(std::span<const float> scores) const {
  std::int32_t best = candidates_[0];
  float top = calibrated(scores, best);
  for (const auto c : candidates_)
    if (const float score = calibrated(scores, c); score > top) {
      top = score;
      best = c;
    }
  return best;
}

std::size_t Ranking::best(std::span<const float> scores, std::span<RankedClass> best) const {
  const std::size_t count = std::min(best.size(), candidates_.size());
  if (count == 0) return 0;
  if (count == 1) {
    best[0].class_index = winner(scores);
  } else {
    std::vector<std::int32_t> order(count);
    std::partial_sort_copy(candidates_.begin(), candidates_.end(), order.begin(), order.end(),
                           [&](std::int32_t a, std::int32_t b) {
                             const float x = calibrated(scores, a), y = calibrated(scores, b);
                             return x > y || (x == y && a < b);
                           });
    for (std::size_t i = 0; i < count; ++i) best[i].class_index = order[i];
  }
  const float top = calibrated(scores, best[0].class_index);
  const auto weight = [&](std::int32_t c) {
    return static_cast<float>(std::exp((calibrated(scores, c) - top) / temperature_));
  };
  double sum = 0;
  for (const auto c : candidates_) sum += weight(c);
  for (auto& one : best.first(count)) {
    one.score = calibrated(scores, one.class_index);
    one.confidence = static_cast<float>(weight(one.class_index) / sum);
  }
  return count;
}

void Ranking::to_confidences(std::span<float> scores) const {
  const float top = calibrated(scores, winner(scores));
  double sum = 0;
  std::size_t next = 0;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    const bool candidate = next < candidates_.size() && static_cast<std::size_t>(candidates_[next]) == c;
    next += candidate;
    scores[c] = candidate ? static_cast<float>(std::exp((scores[c] - penalty_[c] - top) / temperature_)) : 0.0f;
    sum += scores[c];
  }
  for (float& s : scores) s = static_cast<float>(s / sum);
}

}  // namespace parsnets
