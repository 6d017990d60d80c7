#include "experiments/bench_uncertainty.hpp"

#include <fmt/format.h>

#include "data/sample_set.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

using Json = nlohmann::ordered_json;

namespace {

std::string to_hex(const std::vector<std::uint8_t>& correct) {
  std::vector<std::int32_t> right;
  for (std::size_t i = 0; i < correct.size(); ++i)
    if (correct[i] != 0) right.push_back(static_cast<std::int32_t>(i));
  return samples_to_hex(right);
}

std::vector<std::uint8_t> from_hex(const Json& correct, const char* key, std::size_t samples) {
  const Json found = correct.is_object() ? correct.value(key, Json()) : Json();
  const std::string hex = found.is_string() ? found.get<std::string>() : "";
  const auto right = samples_from_hex(hex);
  if (!found.is_string() || samples_to_hex(right) != hex ||
      (!right.empty() && static_cast<std::size_t>(right.back()) >= samples))
    throw Error(BadInput{"a run", fmt::format("correct/{}", key),
                         fmt::format("hexadecimal bits of {} samples", samples), found.is_string() ? "others" : "none",
                         "run the method again"});
  std::vector<std::uint8_t> out(samples, 0);
  for (const auto i : right) out[static_cast<std::size_t>(i)] = 1;
  return out;
}

Json difference_json(const PairedDifference& result) {
  return {{"difference", result.difference.estimate},
          {"low", result.difference.low},
          {"high", result.difference.high},
          {"p", result.p},
          {"exact", result.exact}};
}

}  // namespace

Json correctness_json(const Correctness& correct) {
  Json json{{"zsl", to_hex(correct.zsl)}};
  if (correct.seen.empty()) return json;
  json["unseen"] = to_hex(correct.unseen);
  json["seen"] = to_hex(correct.seen);
  return json;
}

std::optional<Outcomes> outcomes_of_runs(const Json& runs, const Dataset& data) {
  std::vector<Correctness> correct;
  const std::size_t unseen = data.split.test_unseen.size(), seen = data.split.test_seen.size();
  for (const auto& run : runs) {
    if (!run.contains("correct")) return {};
    const Json& bits = run.at("correct");
    correct.push_back({from_hex(bits, "zsl", unseen), {}, {}});
    if (seen == 0) continue;
    correct.back().unseen = from_hex(bits, "unseen", unseen);
    correct.back().seen = from_hex(bits, "seen", seen);
  }
  if (correct.empty()) return {};
  return outcomes_of(data, correct);
}

Json comparison_json(const PairedComparison& comparison) {
  Json json{{"zsl", difference_json(comparison.zsl)}};
  if (!comparison.has_gzsl) return json;
  json["u"] = difference_json(comparison.u);
  json["s"] = difference_json(comparison.s);
  json["h"] = difference_json(comparison.h);
  return json;
}

}  // namespace parsnets
