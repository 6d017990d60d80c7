#include "parsnets/prediction_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kRounding = 1e-9;  // 100·0.55 is above 55

/// The largest value that enough of them reach. Reorders them.
float conformal_quantile(std::vector<float>& confidences, double coverage) {
  const auto n = static_cast<double>(confidences.size());
  const double place = std::ceil((n + 1) * coverage - kRounding);
  if (place > n) return 0;
  const auto found = confidences.begin() + static_cast<std::ptrdiff_t>(place) - 1;
  std::ranges::nth_element(confidences, found, std::greater());
  return *found;
}

}  // namespace

std::vector<float> PredictionSets::thresholds(double coverage, std::span<const std::uint8_t> is_seen) const {
  if (!(coverage > 0 && coverage < 1))
    throw Error(ErrorCode::usage, fmt::format("coverage: expected more than 0 and less than 1, found {}", coverage));
  if (!seen_classes.empty() && seen_classes.back() >= is_seen.size())
    throw Error(ErrorCode::usage, fmt::format("prediction sets: expected at least {} classes, found {}",
                                              seen_classes.back() + 1, is_seen.size()));
  std::vector<float> own, pooled, validation = unseen;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (is_seen[seen_classes[i]]) pooled.push_back(seen[i]);
  const float of_seen = conformal_quantile(pooled, coverage), of_unseen = conformal_quantile(validation, coverage);
  std::vector<float> thresholds(is_seen.size());
  auto first = seen_classes.begin();
  for (std::size_t c = 0; c < is_seen.size(); ++c) {
    const auto last = std::find_if(first, seen_classes.end(), [c](std::uint32_t other) { return other != c; });
    const auto start = seen.begin() + (first - seen_classes.begin());
    own.assign(start, start + (last - first));
    first = last;
    const bool suffices = (static_cast<double>(own.size()) + 1) * (1 - coverage) >= 5 - kRounding;
    thresholds[c] = !is_seen[c] ? of_unseen : suffices ? conformal_quantile(own, coverage) : of_seen;
  }
  return thresholds;
}

}  // namespace parsnets
