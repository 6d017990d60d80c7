#include "report/open_set_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "eval/open_set_json.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCurvePoints = 200, kBins = 40;
constexpr std::array<std::pair<const char*, OpenSetKind>, 3> kKinds{{{"known_seen", OpenSetKind::known_seen},
                                                                     {"known_unseen", OpenSetKind::known_unseen},
                                                                     {"unknown", OpenSetKind::unknown}}};

double rounded(double value) { return std::round(value * 1000) / 1000; }

Json curve_json(std::span<const AcceptancePoint> curve) {
  Json json = Json::array();
  for (const auto& point : thinned(curve, kCurvePoints)) json.push_back({rounded(point.unknown), rounded(point.known)});
  return json;
}

bool out_of_range(const JudgedSample& sample) { return sample.known_score == std::numeric_limits<float>::lowest(); }

/// Bins of equal width over all but the outermost hundredth of the samples, with an edge at 0.
std::vector<double> edges_of(std::span<const JudgedSample> samples) {
  std::vector<float> values;
  for (const auto& sample : samples)
    if (!out_of_range(sample)) values.push_back(sample.above_threshold);
  std::ranges::sort(values);
  const std::size_t cut = values.size() / 200;
  double low = -1, high = 1;
  if (!values.empty()) {
    low = std::min(0.0, static_cast<double>(values[cut]));
    high = std::max(0.0, static_cast<double>(values[values.size() - 1 - cut]));
  }
  if (!(high - low > 0)) low = -1, high = 1;
  const double width = (high - low) / kBins;
  const auto below = static_cast<int>(std::ceil(-low / width - 1e-9)),
             above = static_cast<int>(std::ceil(high / width - 1e-9));
  std::vector<double> edges;
  for (int i = -below; i <= above; ++i) edges.push_back(i * width);
  return edges;
}

/// What the model's thresholds accept, in percent.
Json at_thresholds(const OpenSetEvaluation& result) {
  std::size_t accepted = 0, right = 0;
  for (const auto& sample : result.samples) {
    if (sample.kind == OpenSetKind::unknown || sample.above_threshold < 0) continue;
    ++accepted;
    right += sample.right;
  }
  const auto known = static_cast<double>(result.samples.size() - result.unknown.samples);
  return {{"unknown", result.unknown.accepted},
          {"known", 100.0 * static_cast<double>(accepted) / known},
          {"known_right", 100.0 * static_cast<double>(right) / known}};
}

}  // namespace

Json open_set_histogram(std::span<const JudgedSample> samples) {
  const std::vector<double> edges = edges_of(samples);
  Json json{{"edges", edges}};
  for (const auto& [name, kind] : kKinds) {
    std::vector<std::size_t> counts(edges.size() - 1, 0);
    std::size_t all = 0, out = 0;
    for (const auto& sample : samples) {
      if (sample.kind != kind) continue;
      ++all;
      if (out_of_range(sample)) {
        ++out;
        continue;
      }
      const auto after = std::ranges::upper_bound(edges, static_cast<double>(sample.above_threshold)) - edges.begin();
      ++counts[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(after - 1, 0, std::ssize(counts) - 1))];
    }
    if (all == 0) {
      json[name] = json["out_of_range"][name] = nullptr;
      continue;
    }
    const auto percent = [&](std::size_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(all); };
    json[name] = Json::array();
    for (const auto n : counts) json[name].push_back(percent(n));
    json["out_of_range"][name] = percent(out);
  }
  return json;
}

Json open_set_figures(const Model& model, const Dataset& data, std::uint64_t seed, ThreadPool& pool,
                      ProgressObserver* progress) {
  if (model.rejection.empty()) return nullptr;
  if (data.split.test_seen.empty() && data.unseen_classes().size() < 2) return nullptr;
  OpenSetEvaluationOptions options;
  options.seed = seed;
  const OpenSetEvaluation result = evaluate_open_set(model, data, options, pool, progress);
  Json json = open_set_json(result, model.rejection);
  for (const auto& [name, quality] :
       {std::pair("known_score", &result.by_known_score), std::pair("confidence", &result.by_confidence)}) {
    json[name]["roc"] = curve_json(quality->roc);
    json[name]["oscr_curve"] = curve_json(quality->oscr_curve);
  }
  json["at_thresholds"] = at_thresholds(result);
  json["histogram"] = open_set_histogram(result.samples);
  return json;
}

}  // namespace parsnets
