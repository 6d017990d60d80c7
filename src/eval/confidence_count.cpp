#include "eval/confidence_count.hpp"

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

}  // namespace parsnets
