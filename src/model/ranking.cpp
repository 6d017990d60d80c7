#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/row_products.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

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

/// e^x in float for x <= 0, within two units of the last place; 0 below -87. Plain arithmetic, so that loops over it
/// are vectorised and one value has the bits it has there. Argument reduction and polynomial are those of Cephes.
inline float exp_of(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;  // rounds to a whole number
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) - 0x4b400000u + 127u) << 23;
  const std::uint32_t kept = x >= -87.0f ? 0xffffffffu : 0u;  // a branch could not be vectorised
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(y * std::bit_cast<float>(exponent)) & kept);
}

/// exp((score − top)/temperature), `scale` one over the temperature.
inline float weight_of(float score, float top, double scale) {
  return exp_of(static_cast<float>(static_cast<double>(score - top) * scale));
}

PARSNETS_SIMD void calibrate(const float* scores, const float* penalty, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = scores[i] - penalty[i];
}

PARSNETS_SIMD float largest(const float* scores, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, scores[0]);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = scores[i + l] > lanes[l] ? scores[i + l] : lanes[l];
  float top = lanes[0];
  for (const float lane : lanes) top = lane > top ? lane : top;
  for (; i < count; ++i) top = scores[i] > top ? scores[i] : top;
  return top;
}

/// weight_of() of all, in place; returns their sum.
PARSNETS_SIMD double to_weights(float* scores, std::size_t count, float top, double scale) {
  for (std::size_t i = 0; i < count; ++i) scores[i] = weight_of(scores[i], top, scale);
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += scores[i + l];
  double sum = 0;
  for (; i < count; ++i) sum += scores[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// The first place from `i` on with a score above the threshold; `count` if there is none.
PARSNETS_SIMD std::size_t next_above(const float* scores, std::size_t i, std::size_t count, float threshold) {
  constexpr std::size_t kLanes = 32;
  for (; i + kLanes <= count; i += kLanes) {
    unsigned above = 0;
    for (std::size_t l = 0; l < kLanes; ++l) above += scores[i + l] > threshold ? 1u : 0u;
    if (above > 0) break;
  }
  while (i < count && !(scores[i] > threshold)) ++i;
  return i;
}

/// Ties go to the earlier class.
bool is_better(const RankedClass& a, const RankedClass& b) {
  return a.score > b.score || (a.score == b.score && a.class_index < b.class_index);
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
  for (std::size_t first = 0; first < seen.size() + kTile; first += kTile)
    tile_first_.push_back(static_cast<std::size_t>(
        std::ranges::lower_bound(candidates_, static_cast<std::int64_t>(first)) - candidates_.begin()));
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

Ranking::TileWeights Ranking::add_tile(std::size_t tile, std::span<const float> scores, std::span<RankedClass> best,
                                       std::size_t& found, bool weights) const {
  const std::size_t first = tile * kTile, start = tile_first_[tile], count = tile_first_[tile + 1] - start;
  if (count == 0) return {};
  float compared[kTile];
  if (count == scores.size())
    calibrate(scores.data(), penalty_.data() + first, compared, count);
  else
    for (std::size_t i = 0; i < count; ++i) {
      const auto c = static_cast<std::size_t>(candidates_[start + i]);
      compared[i] = scores[c - first] - penalty_[c];
    }
  const float top = largest(compared, count);
  std::size_t i = 0;
  const auto at = [&] { return RankedClass{candidates_[start + i], compared[i], 0}; };
  for (; i < count && found < best.size(); ++i) {  // a heap whose front is the worst of those kept
    best[found++] = at();
    std::push_heap(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(found), is_better);
  }
  while (i < count && top > best[0].score && (i = next_above(compared, i, count, best[0].score)) < count) {
    std::pop_heap(best.begin(), best.end(), is_better);
    best.back() = at();
    std::push_heap(best.begin(), best.end(), is_better);
    ++i;
  }
  return {top, weights ? to_weights(compared, count, top, 1 / temperature_) : 0};
}

std::vector<Ranking::TileWeights> Ranking::add_tiles(std::span<const float> scores, std::span<RankedClass> best) const {
  std::vector<TileWeights> tiles;
  std::size_t found = 0;
  for (std::size_t t = 0; t + 1 < tile_first_.size(); ++t)
    tiles.push_back(add_tile(t, scores.subspan(t * kTile, std::min(kTile, scores.size() - t * kTile)), best, found));
  return tiles;
}

double Ranking::total(std::span<const TileWeights> tiles, float top) const {
  double sum = 0;
  for (const auto& [best, weight] : tiles)
    if (weight > 0) sum += weight * std::exp(static_cast<double>(best - top) / temperature_);
  return sum;
}

void Ranking::finish(std::span<const TileWeights> tiles, std::span<RankedClass> best) const {
  std::sort_heap(best.begin(), best.end(), is_better);
  if (tiles.empty() || best.empty()) return;
  const float top = best[0].score;
  const double sum = total(tiles, top);
  for (RankedClass& one : best) one.confidence = static_cast<float>(weight_of(one.score, top, 1 / temperature_) / sum);
}

std::size_t Ranking::best(std::span<const float> scores, std::span<RankedClass> best) const {
  best = best.first(std::min(best.size(), candidates_.size()));
  if (best.empty()) return 0;
  finish(add_tiles(scores, best), best);
  return best.size();
}

std::vector<RankedClass> Ranking::set(std::span<const float> scores, std::span<const float> thresholds) const {
  if (thresholds.size() != scores.size())
    throw Error(ErrorCode::usage, fmt::format("thresholds: expected one of each of {} classes, found {}", scores.size(),
                                              thresholds.size()));
  std::vector<float> confidences(scores.begin(), scores.end());
  to_confidences(confidences);
  const std::int32_t top = winner(scores);
  std::vector<RankedClass> set;
  for (const auto c : candidates_)
    if (const auto i = static_cast<std::size_t>(c); c == top || confidences[i] >= thresholds[i])
      set.push_back({c, calibrated(scores, c), confidences[i]});
  std::ranges::sort(set, is_better);
  return set;
}

void Ranking::to_confidences(std::span<float> scores) const {
  RankedClass top;
  const auto tiles = add_tiles(scores, {&top, 1});
  const double sum = total(tiles, top.score);
  std::size_t next = 0;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    const bool candidate = next < candidates_.size() && static_cast<std::size_t>(candidates_[next]) == c;
    next += candidate;
    scores[c] =
        candidate ? static_cast<float>(weight_of(scores[c] - penalty_[c], top.score, 1 / temperature_) / sum) : 0.0f;
  }
}

}  // namespace parsnets
