#include "experiments/evaluation_json.hpp"

namespace parsnets {

nlohmann::ordered_json evaluation_json(const Evaluation& result, const std::string& gamma_from) {
  nlohmann::ordered_json json{{"units", "percent"}};
  if (result.trained_samples != 0)
    json["trained_samples"] =
        result.trained_samples > 0 ? nlohmann::ordered_json(result.trained_samples) : nlohmann::ordered_json("unknown");
  json["zsl"] = {{"top1_per_class", result.zsl.top1_per_class}, {"top1", result.zsl.top1}, {"top5", result.zsl.top5}};
  if (result.has_gzsl) {
    json["gzsl"] = {{"u", result.gzsl.u},         {"s", result.gzsl.s},         {"h", result.gzsl.h},
                    {"ausuc", result.gzsl.ausuc}, {"gamma", result.gzsl.gamma}, {"gamma_from", gamma_from}};
  }
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  return json;
}

nlohmann::ordered_json intervals_json(const EvaluationIntervals& intervals) {
  const auto interval_json = [](const BootstrapInterval& interval) {
    return nlohmann::ordered_json{{"estimate", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
  };
  nlohmann::ordered_json json{{"zsl", interval_json(intervals.zsl)}};
  if (!intervals.has_gzsl) return json;
  json["u"] = interval_json(intervals.u);
  json["s"] = interval_json(intervals.s);
  json["h"] = interval_json(intervals.h);
  return json;
}

}  // namespace parsnets
