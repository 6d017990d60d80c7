// With k known and u unknown scores, all curves come from the scores sorted downwards; with r the samples that count,
//   area = Σ over pairs of r_i·([k_i > u_j] + [k_i = u_j]/2) / (number of pairs),
// which is what the trapezoid sum over distinct thresholds gives. Pairs are counted in integers: the order of the
// samples changes nothing.

#include "eval/open_set_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

void check(std::span<const float> scores, const char* what) {
  if (scores.empty()) throw Error(BadInput{what, "", "at least one score", "none", "pass samples of both kinds"});
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (std::isnan(scores[i]))
      throw Error(BadInput{what, fmt::format("entry {}", i), "a number", "nan", "check the features for such values"});
}

std::vector<float> falling(std::span<const float> scores) {
  std::vector<float> sorted(scores.begin(), scores.end());
  std::ranges::sort(sorted, std::greater<>());
  return sorted;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// `counted`: the known scores that the curve counts, out of `known`.
AcceptanceCurve curve_of(std::span<const float> counted, std::span<const float> known, std::span<const float> unknown) {
  check(known, "known scores");
  check(unknown, "unknown scores");
  const std::vector<float> k = falling(counted), u = falling(unknown);
  AcceptanceCurve out{0, {{0, 0}}};
  std::uint64_t twice_pairs = 0;
  for (std::size_t i = 0, j = 0; i < k.size() || j < u.size();) {
    const float threshold = j == u.size() || (i < k.size() && k[i] > u[j]) ? k[i] : u[j];
    const std::size_t accepted_before = i, unknown_before = j;
    while (i < k.size() && k[i] == threshold) ++i;
    while (j < u.size() && u[j] == threshold) ++j;
    twice_pairs += static_cast<std::uint64_t>(j - unknown_before) * (accepted_before + i);
    out.points.push_back({percent(j, u.size()), percent(i, known.size())});
  }
  out.area = percent(twice_pairs, std::uint64_t{2} * known.size() * unknown.size());
  return out;
}

}  // namespace

AcceptanceCurve roc(std::span<const float> known, std::span<const float> unknown) {
  return curve_of(known, known, unknown);
}

AcceptanceCurve oscr(std::span<const float> known, std::span<const std::uint8_t> right,
                     std::span<const float> unknown) {
  std::vector<float> counted;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (right[i]) counted.push_back(known[i]);
  return curve_of(counted, known, unknown);
}

double fpr95(std::span<const float> known, std::span<const float> unknown) {
  check(known, "known scores");
  check(unknown, "unknown scores");
  const std::size_t accepted = (95 * known.size() + 99) / 100;
  const float threshold = falling(known)[accepted - 1];
  return percent(static_cast<std::uint64_t>(std::ranges::count_if(unknown, [&](float s) { return s >= threshold; })),
                 unknown.size());
}

std::vector<AcceptancePoint> thinned(std::span<const AcceptancePoint> curve, std::size_t most) {
  if (curve.size() <= most) return {curve.begin(), curve.end()};
  const auto along = [](const AcceptancePoint& point) { return point.unknown + point.known; };
  const double step = along(curve.back()) / static_cast<double>(most - 1);
  std::vector<AcceptancePoint> kept{curve.front()};
  for (std::size_t i = 1; i + 1 < curve.size() && kept.size() + 1 < most; ++i)
    if (along(curve[i]) >= step * static_cast<double>(kept.size())) kept.push_back(curve[i]);
  kept.push_back(curve.back());
  return kept;
}

}  // namespace parsnets
