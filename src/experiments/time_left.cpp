#include "experiments/time_left.hpp"

namespace parsnets {

namespace {

/// Training time relative to the default model: an order of magnitude for methods that have not run yet.
double rough_share(const std::string& method) {
  if (method.starts_with("auto")) return 15;
  if (method.starts_with("paper")) return 30;
  if (method.starts_with("ridge") || method.starts_with("eszsl") || method.starts_with("sae")) return 0.2;
  return 1;
}

}  // namespace

void TimeLeft::add(const PlannedRun& run, double seconds) {
  for (Sum* sum : {&by_data_[{run.method, run.data}], &by_method_[run.method]}) {
    sum->seconds += seconds;
    sum->samples += static_cast<double>(run.samples);
    ++sum->runs;
  }
}

std::optional<double> TimeLeft::of(const std::vector<PlannedRun>& runs) const {
  double known = 0, share = 0;  // per sample, over the methods that ran
  for (const auto& [method, sum] : by_method_) {
    known += sum.samples > 0 ? sum.seconds / sum.samples : 0;
    share += rough_share(method);
  }
  if (share <= 0) return std::nullopt;
  double seconds = 0;
  for (const auto& run : runs) {
    if (const auto same = by_data_.find({run.method, run.data}); same != by_data_.end()) {
      seconds += same->second.seconds / static_cast<double>(same->second.runs);
      continue;
    }
    const auto found = by_method_.find(run.method);
    const double per_sample = found != by_method_.end() && found->second.samples > 0
                                  ? found->second.seconds / found->second.samples
                                  : known / share * rough_share(run.method);
    seconds += per_sample * static_cast<double>(run.samples);
  }
  return seconds;
}

}  // namespace parsnets
