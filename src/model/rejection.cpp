#include "parsnets/rejection.hpp"

#include <fmt/format.h>

#include <limits>

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

std::string weak_rejection(const Rejection& rejection) {
  const auto& price = rejection.price;
  if (!price || (price->auroc > 0.6 && price->rejected_seen <= 0.5 && price->rejected_unseen <= 0.5)) return "";
  std::string unseen;
  if (price->rejected_unseen > 0)
    unseen = fmt::format(" and {:.0f} % of those of unseen", 100 * price->rejected_unseen);
  return fmt::format(
      "rejection hardly works for this model: on held-out classes it rejects {:.0f} % of the samples of seen{} "
      "classes, "
      "with AUROC {:.1f} (chance: 50)",
      100 * price->rejected_seen, unseen, 100 * price->auroc);
}

}  // namespace parsnets
