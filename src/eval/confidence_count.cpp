#include "eval/confidence_count.hpp"

#include <nlohmann/json.hpp>

namespace parsnets {

void ConfidenceCount::add(std::span<const std::int32_t> labels, MatrixView<const float> scores) {
  for (std::size_t r = 0; r < scores.rows(); ++r) {
    const std::int32_t best = ranking_.winner(scores.row(r)), label = labels[r];
    row_.assign(scores.row(r).begin(), scores.row(r).end());
    ranking_.to_confidences(row_);
    confidences_.push_back(row_[static_cast<std::size_t>(best)]);
    correct_.push_back(best == label);
    for (std::size_t k = 0; k < thresholds_.size(); ++k) {
      const std::vector<float>& least = thresholds_[k];
      const auto is_in = [&](std::int32_t c) {
        return c == best || row_[static_cast<std::size_t>(c)] >= least[static_cast<std::size_t>(c)];
      };
      covered_[k] += is_in(label);
      for (const auto c : ranking_.candidates()) classes_[k] += is_in(c);
    }
  }
}

Reliability ConfidenceCount::reliability() const {
  return confidences_.empty() ? Reliability{} : parsnets::reliability(confidences_, correct_);
}

SetSide ConfidenceCount::set(std::size_t coverage) const {
  const auto n = static_cast<double>(confidences_.size());
  if (confidences_.empty()) return {};
  return {confidences_.size(), 100 * static_cast<double>(covered_[coverage]) / n,
          static_cast<double>(classes_[coverage]) / n};
}

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

Json sets_json(const EvaluationDetails& result) {
  if (result.sets.empty()) return nullptr;
  Json json = Json::array();
  for (const SetResult& sets : result.sets) {
    json.push_back({{"stated", sets.stated}, {"seen", side_json(sets.seen)}, {"unseen", side_json(sets.unseen)}});
    json.back()["unseen"]["calibrated_on"] = "validation classes";
  }
  return json;
}

Json reliability_json(const EvaluationDetails& result) {
  return {{"seen", side_json(result.seen_reliability)}, {"unseen", side_json(result.unseen_reliability)}};
}

}  // namespace parsnets
