// Rejection and prediction sets.

#include "parsnets/open_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "parsnets/error.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

namespace {

/// What a value that speaks against a sample says, in the order of Evidence::kNames. Null: such a value does not.
struct Words {
  const char *low, *high;
};
constexpr std::array<Words, Evidence::kCount> kWords{
    {{"it matches its best class too little", nullptr},
     {"neither one class nor several together match it well", nullptr},
     {"it has too little of what tells the classes apart", "it has far more of what tells the classes apart"},
     {nullptr, "it differs too much from its best class"},
     {nullptr, "too much of it is unlike anything the classes have"},
     {"it shows the marks of its best class too weakly", nullptr}}};

const char* words_of(std::size_t j, bool high) { return high ? kWords[j].high : kWords[j].low; }

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

float Rejection::known_score(const Evidence& evidence, bool best_is_seen) const {
  const auto values = evidence.values();
  const auto& weight = weights[best_is_seen ? 1 : 0];
  float sum = weight[Evidence::kCount];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= range[0][i] && values[i] <= range[1][i])) return std::numeric_limits<float>::lowest();
    sum += weight[i] * values[i];
  }
  return sum;
}

std::string unknown_because(const Rejection& rejection, const Evidence& evidence, bool best_is_seen) {
  const auto values = evidence.values();
  const std::size_t kind = best_is_seen ? 1 : 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    const float low = rejection.range[0][j], high = rejection.range[1][j];
    if (values[j] >= low && values[j] <= high) continue;
    const bool above = values[j] > high;
    const char* words = words_of(j, above);
    return fmt::format("{}: {} {:.3g}, known samples have {} {:.3g}",
                       words != nullptr ? words : "it is unlike all known samples", Evidence::kNames[j], values[j],
                       above ? "at most" : "at least", above ? high : low);
  }
  std::size_t worst = values.size();
  float least = 0;
  for (std::size_t j = 0; rejection.typical && j < values.size(); ++j) {
    const float beyond = values[j] - (*rejection.typical)[kind][j], amount = rejection.weights[kind][j] * beyond;
    if (words_of(j, beyond > 0) == nullptr || !(amount < least)) continue;
    least = amount;
    worst = j;
  }
  if (worst == values.size())
    return fmt::format("all evidence together is too weak: known score {:.3g}, accepted from {:.3g}",
                       rejection.known_score(evidence, best_is_seen), rejection.thresholds[kind]);
  return fmt::format("{}: {} {:.3g}, typical of known samples is {:.3g}",
                     words_of(worst, values[worst] > (*rejection.typical)[kind][worst]), Evidence::kNames[worst],
                     values[worst], (*rejection.typical)[kind][worst]);
}

std::string weak_rejection(const Model& model) {
  const auto& found = model.record.rejection;
  if (!found || (found->auroc > 60 && found->rejected_seen <= 50 && found->rejected_unseen <= 50)) return "";
  std::string unseen;
  if (found->rejected_unseen > 0) unseen = fmt::format(" and {:.0f} % of those of unseen", found->rejected_unseen);
  return fmt::format(
      "rejection hardly works for this model: on held-out classes it rejects {:.0f} % of the samples of seen{} "
      "classes, with AUROC {:.1f} (chance: 50)",
      found->rejected_seen, unseen, found->auroc);
}

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
