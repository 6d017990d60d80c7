#include "eval/open_set_json.hpp"

#include <cmath>

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isnan(value) ? Json() : Json(value); }

Json share_json(const AcceptedShare& share) {
  const bool any = share.samples > 0;
  const Interval& interval = share.of_classes;
  return {{"samples", share.samples},
          {"classes", share.classes},
          {"accepted", any ? Json(share.accepted) : Json()},
          {"rejected", any ? Json(100 - share.accepted) : Json()},
          {"accepted_of_classes",
           {{"mean", number(interval.mean)}, {"low", number(interval.low)}, {"high", number(interval.high)}}}};
}

Json quality_json(const OpenSetQuality& quality) {
  return {{"auroc", quality.auroc}, {"fpr95", quality.fpr95}, {"oscr", quality.oscr}};
}

}  // namespace

Json open_set_json(const OpenSetEvaluation& result, const Rejection& rejection) {
  Json json{{"units", "percent"},
            {"false_accept", 100 * rejection.false_accept},
            {"turns", result.turns},
            {"not_in_bank", result.not_in_bank},
            {"known_seen", share_json(result.known_seen)},
            {"known_unseen", share_json(result.known_unseen)},
            {"unknown", share_json(result.unknown)},
            {"known_right", result.known_right},
            {"known_score", quality_json(result.by_known_score)},
            {"confidence", quality_json(result.by_confidence)},
            {"no_class", Json::array()}};
  for (const auto& inputs : result.no_class)
    json["no_class"].push_back({{"name", inputs.name},
                                {"features", inputs.features},
                                {"inputs", inputs.inputs},
                                {"rejected", inputs.rejected},
                                {"auroc", inputs.auroc}});
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  return json;
}

}  // namespace parsnets
