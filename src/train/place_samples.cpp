#include "train/place_samples.hpp"

#include <algorithm>

#include "base/machine.hpp"
#include "eval/scoring.hpp"
#include "train/validation.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kFewestRows = 256, kMostRows = 8192;

struct Sizes {
  double n, d, p, q, h = 0, networks = 0, active = 0, classes, judged;
};

Sizes sizes_of(const MethodOptions& method, const Dataset& data, std::size_t processes) {
  Sizes s;
  s.n = static_cast<double>(data.split.trainval.size()) / static_cast<double>(processes);
  s.d = static_cast<double>(data.features.cols());
  s.classes = static_cast<double>(data.classes());
  s.p = static_cast<double>(data.seen_classes().size());
  s.q = static_cast<double>(data.semantics.values.cols());
  if (const auto* o = std::get_if<ParsNetsOptions>(&method)) {
    s.q = std::min(s.d, s.p);
    if (o->networks > 0) {
      s.h = o->encoding;
      s.networks = o->networks;
      s.active = o->active;
    }
  }
  s.judged = static_cast<double>(std::min(kMostJudged, data.split.trainval.size()));
  return s;
}

/// What does not grow with the number of samples: sums, factors, networks with their moments and directions, the
/// outputs that models are judged by.
double fixed_bytes(const Sizes& s) {
  return 44 * s.d * s.d + 24 * s.p * s.d + 20 * s.d * s.q + s.networks * (s.h + 1) * (20 * s.q + 4 * (s.h + 1)) +
         8 * s.h * s.d + 64 * s.p * s.q + 24 * s.classes * s.q + 12 * s.judged * s.q +
         2 * std::min(static_cast<double>(kKeptScores), 4 * s.judged * s.classes);
}

double bytes_of_row(const Sizes& s) { return 4 * (3 * s.d + 2 * s.h + 4 * s.q) + 4 * s.active; }

/// The same in all processes, which must not decide differently.
double mean_over_processes(double value, Processes* processes) {
  if (processes == nullptr) return value;
  processes->sum(std::span<double>(&value, 1));
  return value / static_cast<double>(processes->size());
}

}  // namespace

bool needs_all_samples(const MethodOptions& method) {
  if (const auto* o = std::get_if<BaselineOptions>(&method))
    return o->kind == Baseline::dap || o->kind == Baseline::reverse_ridge;
  return std::holds_alternative<PaperOptions>(method);
}

SamplePlace place_samples(const TrainOptions& o, const Dataset& data, Processes* processes) {
  SamplePlace place;
  place.group = processes;
  if (o.run.memory_limit == 0 || needs_all_samples(o.method)) return place;
  const Sizes s = sizes_of(o.method, data, place.size());
  const double limit = static_cast<double>(o.run.memory_limit),
               used = mean_over_processes(static_cast<double>(held_memory()), processes),
               scoring = scoring_bytes(data.classes(), static_cast<std::size_t>(s.q), data.features.cols(),
                                       static_cast<std::size_t>(s.judged)),
               mapped = data.features.is_mapped() ? 4 * static_cast<double>(data.features.size()) : 0,
               kept = mapped + s.n * (4 * s.d + 4 * s.h + 2 * s.active + 20 * s.q), fixed = fixed_bytes(s) + scoring;
  // Large features stay on disk: what they do not fill of the limit is left to other processes and the page cache.
  const bool fits = used + fixed + kept <= limit && mapped <= limit / 4;
  if (fits || s.n <= static_cast<double>(kMostRows)) return place;  // few samples: nothing to gain
  place.kept = false;
  const double row = bytes_of_row(s), fewest = static_cast<double>(kFewestRows);
  if (const double needed = used + fixed + fewest * row; needed > limit)  // the same in all processes
    refuse_memory(o.run.memory_limit, needed, "training", "raise the limit or use fewer networks");
  const double left = limit - used - fixed, encodings = s.n * (4 * s.h + 2 * s.active);
  const double blocks = std::clamp(left / 4 / (fewest * row), 1.0, static_cast<double>(kMostRows / kFewestRows));
  place.block_rows = kFewestRows * static_cast<std::size_t>(blocks);
  place.keeps_encodings = encodings > 0 && encodings <= left / 2;
  return place;
}

}  // namespace parsnets
