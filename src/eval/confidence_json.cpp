#include "eval/confidence_json.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

Json side_json(const SetSide& side) {
  if (side.samples == 0) return nullptr;
  return {{"samples", side.samples}, {"coverage", side.coverage}, {"size", side.size}};
}

Json side_json(const Reliability& side) {
  if (side.samples == 0) return nullptr;
  Json json{{"samples", side.samples}, {"ece", side.ece}, {"bins", Json::array()}};
  for (const ReliabilityBin& bin : side.bins) {
    const auto known = [&bin](double value) { return bin.samples > 0 ? Json(value) : Json(); };
    json["bins"].push_back(
        {{"samples", bin.samples}, {"confidence", known(bin.confidence)}, {"accuracy", known(bin.accuracy)}});
  }
  return json;
}

}  // namespace

Json sets_json(const Evaluation& result) {
  if (result.sets.empty()) return nullptr;
  Json json = Json::array();
  for (const SetResult& sets : result.sets) {
    json.push_back({{"stated", sets.stated}, {"seen", side_json(sets.seen)}, {"unseen", side_json(sets.unseen)}});
    json.back()["unseen"]["calibrated_on"] = "validation classes";
  }
  return json;
}

Json reliability_json(const Evaluation& result) {
  return {{"seen", side_json(result.seen_reliability)}, {"unseen", side_json(result.unseen_reliability)}};
}

}  // namespace parsnets
