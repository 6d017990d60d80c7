// Rejection is a logistic regression of known against unknown samples on their evidence, one for samples whose best
// class is unseen and one for those whose best class is seen: means of seen classes are measured, places of unseen ones
// are predictions, so that the same evidence says less. Each has a threshold of its own, at which it accepts the stated
// share of the unknown samples that come to it; the share in all is then the same whatever part comes to either.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/rng.hpp"
#include "eval/metrics.hpp"
#include "eval/open_set_metrics.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "solvers/logistic.hpp"
#include "train/open_set_samples.hpp"
#include "train/provenance.hpp"

namespace parsnets {

namespace {

constexpr double kLambda = 1e-3;            // of the logistic regression, whose loss is a mean
constexpr std::size_t kFewestSamples = 30;  // of known, and of unknown ones, that a regression of its own needs
constexpr double kRangeTail = 5e-4;         // of known samples that lie out of range on either side
constexpr float kRangeMargin = 0.1f;        // by which the range is wider, relative to its distance from the median
constexpr std::size_t kMostOwn = 200,
                      kMostOfUnseen = 20000;  // confidences kept: of a seen class, of unseen ones in all

using Weights = std::array<std::array<float, Evidence::kCount + 1>, 2>;

/// Of every sample: known ones of seen classes, known ones of unseen classes and unknown ones weigh 1 : 1 : 2 in all,
/// and so do all unknown classes the same.
std::vector<double> importance_of(const std::vector<HeldOutSample>& samples) {
  double seen = 0, unseen = 0;
  std::map<std::int32_t, double> unknown;
  for (const HeldOutSample& s : samples) {
    if (s.known)
      (s.seen ? seen : unseen) += 1;
    else
      unknown[s.label] += 1;
  }
  std::vector<double> importance;
  for (const HeldOutSample& s : samples)
    importance.push_back(s.known ? 1 / (s.seen ? seen : unseen)
                                 : 2 / (static_cast<double>(unknown.size()) * unknown.at(s.label)));
  return importance;
}

/// A regression on the samples that `takes` says. None: too few for one.
template <class Takes>
std::optional<LogisticFit> regress(const std::vector<HeldOutSample>& samples, const std::vector<double>& importance,
                                   const Takes& takes) {
  std::vector<std::size_t> taken;
  std::vector<std::uint8_t> known;
  std::vector<double> weights;
  std::size_t count[2] = {0, 0};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!takes(samples[i])) continue;
    taken.push_back(i);
    known.push_back(samples[i].known ? 1 : 0);
    weights.push_back(importance[i]);
    ++count[samples[i].known ? 1 : 0];
  }
  if (std::min(count[0], count[1]) < kFewestSamples) return {};
  Matrix<float> x(taken.size(), Evidence::kCount);
  for (std::size_t i = 0; i < taken.size(); ++i)
    std::ranges::copy(samples[taken[i]].evidence.values(), x.row(i).begin());
  return fit_logistic(x.view(), known, weights, kLambda);
}

/// The weights of both kinds from the samples of all folds but one.
Weights fit_weights(const std::vector<HeldOutSample>& samples, const std::vector<double>& importance,
                    std::optional<std::uint32_t> without) {
  const auto takes = [&](const HeldOutSample& s) { return !without || s.fold != *without; };
  std::optional<LogisticFit> both;
  Weights weights{};
  for (std::size_t kind = 0; kind < 2; ++kind) {
    std::optional<LogisticFit> fit =
        regress(samples, importance, [&](const HeldOutSample& s) { return takes(s) && s.best_is_seen == (kind == 1); });
    if (!fit) {  // what all samples say is better than what a few do
      if (!both) both = regress(samples, importance, takes);
      fit = both;
    }
    if (!fit) return {};
    for (std::size_t j = 0; j < Evidence::kCount; ++j) weights[kind][j] = static_cast<float>(fit->weights[j]);
    weights[kind][Evidence::kCount] = static_cast<float>(fit->intercept);
  }
  return weights;
}

/// Whether evidence number j below (side 0) or above (side 1) that of known samples speaks against a sample.
bool is_bounded(std::size_t j, int side) {
  const std::string_view name = Evidence::kNames[j];
  if (name == "length") return true;
  return (name == "distance" || name == "outside") == (side == 1);
}

/// Evidence number j of known samples, ascending; with `seen`, of those whose best class is seen or is not.
std::vector<float> known_values(const std::vector<HeldOutSample>& samples, std::size_t j,
                                std::optional<bool> seen = {}) {
  std::vector<float> values;
  for (const HeldOutSample& s : samples)
    if (s.known && s.best_is_seen == seen.value_or(s.best_is_seen)) values.push_back(s.evidence.values()[j]);
  std::ranges::sort(values);
  return values;
}

/// Between which evidence of known samples lies, with some room.
std::array<std::array<float, Evidence::kCount>, 2> range_of(const std::vector<HeldOutSample>& samples) {
  std::array<std::array<float, Evidence::kCount>, 2> range{};
  for (std::size_t j = 0; j < Evidence::kCount; ++j) {
    const std::vector<float> values = known_values(samples, j);
    const auto tail = static_cast<std::size_t>(kRangeTail * static_cast<double>(values.size()));
    const float low = values[tail], middle = values[values.size() / 2], high = values[values.size() - 1 - tail];
    const float most = std::numeric_limits<float>::max();
    range[0][j] = is_bounded(j, 0) ? low - kRangeMargin * (middle - low) : -most;
    range[1][j] = is_bounded(j, 1) ? high + kRangeMargin * (high - middle) : most;
  }
  return range;
}

/// Medians of the evidence of known samples whose best class is unseen, and of those whose best class is seen; of both
/// where there are none of a kind.
std::array<std::array<float, Evidence::kCount>, 2> typical_of(const std::vector<HeldOutSample>& samples) {
  std::array<std::array<float, Evidence::kCount>, 2> typical{};
  for (std::size_t kind = 0; kind < 2; ++kind)
    for (std::size_t j = 0; j < Evidence::kCount; ++j) {
      std::vector<float> values = known_values(samples, j, kind == 1);
      if (values.empty()) values = known_values(samples, j);
      typical[kind][j] = values[values.size() / 2];
    }
  return typical;
}

/// The lowest threshold at which the scores that are not below it weigh at most `share` of all.
float threshold_at(std::vector<std::pair<float, double>> scores_and_weights, double share) {
  std::ranges::sort(scores_and_weights, std::greater());
  double left = 0;
  for (const auto& [score, weight] : scores_and_weights) left += share * weight;
  for (std::size_t i = 0; i < scores_and_weights.size();) {
    const float score = scores_and_weights[i].first;
    double weight = 0;
    for (; i < scores_and_weights.size() && scores_and_weights[i].first == score; ++i)
      weight += scores_and_weights[i].second;
    if (weight > left * (1 + 1e-9)) return std::nextafter(score, std::numeric_limits<float>::max());
    left -= weight;
  }
  return scores_and_weights.back().first;
}

PredictionSets sets_of(const Model& model, const Dataset& data, std::vector<OwnConfidence> own, std::uint64_t seed) {
  Rng(seed, 6998).shuffle(own);  // where there are too many, any will do
  std::map<std::string, std::uint32_t> places;
  for (std::size_t c = 0; c < model.classes.names.size(); ++c)
    places.emplace(model.classes.names[c], static_cast<std::uint32_t>(c));
  std::map<std::uint32_t, std::vector<float>> seen;
  PredictionSets sets;
  for (const OwnConfidence& one : own) {
    if (!one.seen) {
      if (sets.unseen.size() < kMostOfUnseen) sets.unseen.push_back(one.confidence);
      continue;
    }
    auto& list = seen[places.at(data.class_names[static_cast<std::size_t>(one.label)])];
    if (list.size() < kMostOwn) list.push_back(one.confidence);
  }
  std::ranges::sort(sets.unseen);
  for (auto& [place, list] : seen) {
    std::ranges::sort(list);
    sets.seen.insert(sets.seen.end(), list.begin(), list.end());
    sets.seen_classes.insert(sets.seen_classes.end(), list.size(), place);
  }
  return sets;
}

double percent(double part, double all) { return all > 0 ? 100 * part / all : 0; }

/// The thresholds of both kinds, by scores of samples that no weight of theirs was fitted to.
std::array<float, 2> choose_thresholds(const std::vector<HeldOutSample>& judged, const std::vector<float>& scores,
                                       const std::vector<double>& importance, double false_accept) {
  std::array<float, 2> thresholds{};
  for (std::size_t kind = 0; kind < 2; ++kind) {
    std::vector<std::pair<float, double>> own, all;
    for (std::size_t i = 0; i < judged.size(); ++i) {
      if (judged[i].known) continue;
      all.emplace_back(scores[i], importance[i]);
      if (judged[i].best_is_seen == (kind == 1)) own.push_back(all.back());
    }
    thresholds[kind] = threshold_at(own.size() < kFewestSamples ? std::move(all) : std::move(own), false_accept);
  }
  return thresholds;
}

/// What the thresholds reach on these samples, by the same scores.
RejectionRecord record_of(const std::vector<HeldOutSample>& judged, const std::vector<float>& scores,
                          const Rejection& rejection) {
  RejectionRecord record;
  record.false_accept = 100 * rejection.false_accept;
  struct Count {
    double accepted = 0, all = 0;
  };
  std::map<std::int32_t, Count> classes;
  Count seen, unseen;
  std::vector<float> known, unknown, known_confidence, unknown_confidence;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const HeldOutSample& s = judged[i];
    (s.known ? known : unknown).push_back(scores[i]);
    (s.known ? known_confidence : unknown_confidence).push_back(s.confidence);
    Count& count = !s.known ? classes[s.label] : s.seen ? seen : unseen;
    count.all += 1;
    count.accepted += scores[i] >= rejection.thresholds[s.best_is_seen ? 1 : 0] ? 1 : 0;
  }
  record.classes = classes.size();
  record.samples = unknown.size();
  std::vector<double> rates;
  for (const auto& [label, count] : classes) rates.push_back(percent(count.accepted, count.all));
  const Interval interval = confidence_interval(rates);
  record.accepted = interval.mean;
  record.accept_low = std::max(0.0, interval.low);
  record.accept_high = std::min(100.0, interval.high);
  record.rejected_seen = percent(seen.all - seen.accepted, seen.all);
  record.rejected_unseen = percent(unseen.all - unseen.accepted, unseen.all);
  record.auroc = roc(known, unknown).area;
  record.confidence_auroc = roc(known_confidence, unknown_confidence).area;
  return record;
}

}  // namespace

RejectionRecord calibrate_open_set(Model& model, const Dataset& data, const OpenSetOptions& options, ThreadPool& pool,
                                   ProgressObserver* progress) {
  if (!(options.false_accept > 0 && options.false_accept < 1))
    throw Error(ErrorCode::usage, fmt::format("{}: expected a share between 0 and 1, found {}",
                                              option_name("false-accept"), options.false_accept));
  if (options.folds < 2)
    throw Error(ErrorCode::usage, fmt::format("folds: expected at least 2, found {}", options.folds));
  if (model.direction != Direction::forward || model.similarity != Similarity::cosine)
    throw Error(ErrorCode::usage, fmt::format("{} requires a forward method and {}", option_name("false-accept"),
                                              option_name("similarity", "cosine")));
  require_training_data(model, data);
  const OpenSetSamples samples = collect_open_set(model, data, options, pool, progress);
  const std::vector<HeldOutSample>& judged = samples.judged;
  const std::vector<double> importance = importance_of(judged);

  Rejection rejection;
  rejection.false_accept = options.false_accept;
  rejection.weights = fit_weights(judged, importance, {});
  if (rejection.weights == Weights{})
    throw Error(
        BadInput{data.name, "samples",
                 fmt::format("at least {} of classes of the model, and as many of classes held out", kFewestSamples),
                 "fewer", "unknown samples cannot be calibrated on so few"});
  rejection.range = range_of(judged);
  rejection.typical = typical_of(judged);

  // Every fold is judged by the others: the threshold and the figures hold for classes that no weight was fitted to.
  std::vector<float> scores(judged.size());
  for (std::uint32_t fold = 0; fold < samples.folds; ++fold) {
    Rejection others = rejection;
    const Weights weights = fit_weights(judged, importance, fold);
    if (weights != Weights{}) others.weights = weights;
    for (std::size_t i = 0; i < judged.size(); ++i)
      if (judged[i].fold == fold) scores[i] = others.known_score(judged[i].evidence, judged[i].best_is_seen);
  }
  rejection.thresholds = choose_thresholds(judged, scores, importance, options.false_accept);

  RejectionRecord record = record_of(judged, scores, rejection);
  record.folds = samples.folds;
  model.sets = sets_of(model, data, samples.own, options.seed);
  model.rejection = rejection;
  model.record.rejection = record;
  return record;
}

}  // namespace parsnets
