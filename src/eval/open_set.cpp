// Open-set recognition on a data set's test samples.

#include "eval/open_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "data/sample_set.hpp"
#include "data/semantics.hpp"
#include "eval/model_data.hpp"
#include "eval/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

namespace {

using Places = std::vector<std::int32_t>;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// The classes of a data set as a model knows them.
struct Known {
  Places place;     ///< of each class in the bank; -1: it is not there
  Places unseen;    ///< classes with test samples that the bank has and the model never had samples of
  Places missing;   ///< classes without training samples that the bank lacks, though there are samples
  Places rows_out;  ///< the samples of those
};

Known known_classes(const Model& model, const Dataset& data) {
  Known known;
  known.place = bank_places(model.classes.names, data);
  for (const auto c : data.unseen_classes()) {
    if (known.place[at(c)] < 0) continue;
    if (model.classes.seen[at(known.place[at(c)])])
      refuse_class(data, c, "an unseen class", "one that the model was trained on",
                   "evaluate on the split it was trained with");
    known.unseen.push_back(c);
  }
  for (const auto row : data.split.test_seen)
    if (const auto c = data.labels[at(row)]; known.place[at(c)] < 0 || !model.classes.seen[at(known.place[at(c)])])
      refuse_class(data, c, "a class that the model was trained on", "none of that name",
                   "evaluate on the split it was trained with");
  const auto trained = data.seen_classes();
  for (std::size_t row = 0; row < data.samples(); ++row)
    if (const auto c = data.labels[row]; known.place[at(c)] < 0 && !std::ranges::binary_search(trained, c)) {
      known.rows_out.push_back(static_cast<std::int32_t>(row));
      known.missing.push_back(c);
    }
  known.missing = distinct(known.missing);
  return known;
}

/// The classes that each turn leaves out.
std::vector<Places> turns_of(const Known& known, const Dataset& data, const OpenSetEvaluationOptions& options) {
  if (options.unknown_classes.empty()) {
    if (!known.missing.empty()) return {{}};  // there are unknown classes as it is
    if (known.unseen.size() < 2) return {known.unseen};
    Places order = known.unseen;
    Rng(options.seed).shuffle(order);
    std::vector<Places> halves(2);
    for (std::size_t i = 0; i < order.size(); ++i) halves[i % 2].push_back(order[i]);
    for (auto& half : halves) std::ranges::sort(half);
    return halves;
  }
  Places chosen;
  for (const auto& name : options.unknown_classes) {
    const auto found = std::ranges::find(data.class_names, name);
    if (found == data.class_names.end())
      throw Error(BadInput{data.name, "class '" + name + "'", "a class of the data set", "none of that name",
                           "check " + option_name("unknown-classes") + did_you_mean(name, data.class_names)});
    const auto c = static_cast<std::int32_t>(found - data.class_names.begin());
    if (std::ranges::binary_search(known.missing, c)) continue;  // it is unknown as it is
    if (!std::ranges::binary_search(known.unseen, c))
      refuse_class(data, c, "an unseen class with test samples", "none", "leave out unseen classes alone");
    chosen.push_back(c);
  }
  return {distinct(chosen)};
}

/// Judges samples among the candidates of a ranking, some at a time, by the calls judge(samples, ranking, stage, use).
/// Use gets (i, sample, best class); row, kind and right of the sample are not set.
class Judge {
 public:
  Judge(const Model& model, ThreadPool& pool, ProgressObserver* progress)
      : model_(model), predictor_(model, pool), pool_(pool), progress_(progress) {}

  template <class Use>
  void operator()(const RowBlocks<float>& samples, const Ranking& ranking, const std::string& stage, Use use) const {
    for (std::size_t first = 0; first < samples.rows; first += kScoredRows) {
      report(progress_, {stage, first, samples.rows, "samples"});
      const auto x = samples.block(first, std::min(kScoredRows, samples.rows - first));
      std::vector<RankedClass> best(x.rows());
      std::vector<Evidence> evidence(x.rows());
      predictor_.rank(x, ranking, pool_, best, evidence);
      for (std::size_t i = 0; i < x.rows(); ++i) {
        const bool seen = model_.classes.seen[at(best[i].class_index)] != 0;
        JudgedSample sample;
        sample.known_score = model_.rejection.known_score(evidence[i], seen);
        sample.above_threshold = sample.known_score - model_.rejection.thresholds[seen ? 1 : 0];
        sample.confidence = best[i].confidence;
        use(first + i, sample, best[i].class_index);
      }
    }
  }

 private:
  const Model& model_;
  const Predictor predictor_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
};

/// All samples while the classes `left_out` are not in the bank.
void judge_turn(const Judge& judge, const Model& model, const Dataset& data, const Known& known, const Places& left_out,
                std::span<const std::int32_t> rows, const std::string& stage, std::vector<JudgedSample>& samples) {
  std::vector<std::uint8_t> out(model.classes.names.size(), 0);
  for (const auto c : left_out) out[at(known.place[at(c)])] = 1;
  Places candidates;
  for (std::size_t c = 0; c < out.size(); ++c)
    if (!out[c]) candidates.push_back(static_cast<std::int32_t>(c));
  judge(blocks_of(data.features, rows), Ranking(model, std::move(candidates)), stage,
        [&](std::size_t i, JudgedSample sample, std::int32_t best) {
          sample.row = rows[i];
          const std::int32_t place = known.place[at(data.labels[at(sample.row)])];
          sample.kind = place < 0 || out[at(place)]     ? OpenSetKind::unknown
                        : model.classes.seen[at(place)] ? OpenSetKind::known_seen
                                                        : OpenSetKind::known_unseen;
          sample.right = best == place;
          samples.push_back(sample);
        });
}

AcceptedShare accepted_share(const std::vector<JudgedSample>& samples, const Dataset& data, OpenSetKind kind) {
  struct Count {
    std::size_t all = 0, accepted = 0;
    double percent() const { return 100.0 * static_cast<double>(accepted) / static_cast<double>(all); }
  } total;
  std::map<std::int32_t, Count> by_class;
  for (const auto& sample : samples) {
    if (sample.kind != kind) continue;
    for (Count* count : {&total, &by_class[data.labels[at(sample.row)]]}) {
      ++count->all;
      count->accepted += sample.above_threshold >= 0;
    }
  }
  if (total.all == 0) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {0, 0, 0, {nan, nan, nan, nan}};
  }
  std::vector<double> shares;
  for (const auto& [c, count] : by_class) shares.push_back(count.percent());
  Interval interval = confidence_interval(shares);
  if (shares.size() > 1) {
    interval.low = std::max(0.0, interval.low);
    interval.high = std::min(100.0, interval.high);
  }
  return {total.all, shares.size(), total.percent(), interval};
}

OpenSetQuality quality(const std::vector<JudgedSample>& samples, float JudgedSample::*score) {
  std::vector<float> known, unknown;
  std::vector<std::uint8_t> right;
  for (const auto& sample : samples) {
    if (sample.kind == OpenSetKind::unknown) {
      unknown.push_back(sample.*score);
    } else {
      known.push_back(sample.*score);
      right.push_back(sample.right);
    }
  }
  const AcceptanceCurve accepted = roc(known, unknown), classified = oscr(known, right, unknown);
  return {accepted.area, fpr95(known, unknown), classified.area, thinned(accepted.points, OpenSetQuality::kCurvePoints),
          thinned(classified.points, OpenSetQuality::kCurvePoints)};
}

/// Inputs of no class, and the test samples beside them, among all classes of the bank.
std::vector<NoClassInputs> judge_no_class(const Judge& judge, const Ranking& all, const Dataset& data,
                                          std::span<const std::int32_t> known_rows,
                                          const OpenSetEvaluationOptions& options) {
  std::vector<float> known;
  judge(blocks_of(data.features, known_rows), all, "judge samples, all classes",
        [&](std::size_t, const JudgedSample& sample, std::int32_t) { known.push_back(sample.known_score); });
  std::vector<NoClassInputs> result;
  visit_no_class_inputs(data.features, known_rows, options.inputs, options.seed,
                        [&](std::string_view name, std::string_view features, MatrixView<const float> x) {
                          std::vector<float> scores;
                          std::size_t rejected = 0;
                          judge(blocks_of(x), all, "judge inputs of no class",
                                [&](std::size_t, const JudgedSample& sample, std::int32_t) {
                                  scores.push_back(sample.known_score);
                                  rejected += sample.above_threshold < 0;
                                });
                          result.push_back({name, features, x.rows(),
                                            100.0 * static_cast<double>(rejected) / static_cast<double>(x.rows()),
                                            roc(known, scores).area});
                        });
  return result;
}

std::vector<std::string> names_of(const Places& classes, const Dataset& data) {
  std::vector<std::string> names;
  for (const auto c : classes) names.push_back(data.class_names[at(c)]);
  return names;
}

}  // namespace

OpenSetEvaluation evaluate_open_set(const Model& model, const Dataset& data, const OpenSetEvaluationOptions& options,
                                    ThreadPool& pool, ProgressObserver* progress) {
  if (model.rejection.empty())
    throw Error(ErrorCode::usage,
                fmt::format("open-set recognition: expected a model that rejects unknown samples; calibrate it ({})",
                            option_name("false-accept")));
  if (options.inputs < 1) throw Error(ErrorCode::usage, "open-set recognition: expected at least 1 input of each kind");
  check_test_data(model, data);
  const Known known = known_classes(model, data);
  const std::vector<Places> turns = turns_of(known, data, options);
  if (turns[0].empty() && known.missing.empty())
    throw Error(BadInput{data.name, "split", "test samples of unseen classes, which can be left out of the bank",
                         "none", "check the split"});
  if (data.split.test_seen.empty() && turns[0].size() == known.unseen.size())
    throw Error(BadInput{data.name, "split", "test samples of classes that stay in the bank", "none",
                         "leave out fewer classes (" + option_name("unknown-classes") +
                             "), or use a split with test samples of seen classes"});
  Places test = data.split.test_seen;  // of classes of the bank
  for (const auto row : data.split.test_unseen)
    if (known.place[at(data.labels[at(row)])] >= 0) test.push_back(row);
  Places rows = test;
  rows.insert(rows.end(), known.rows_out.begin(), known.rows_out.end());
  check_finite_rows(data.features, rows, features_source(data));
  OpenSetEvaluation result;
  result.not_in_bank = names_of(known.missing, data);
  result.warnings = semantic_warnings(data);
  warn_of_learning(model, result.warnings);
  const Judge judge(model, pool, progress);
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    result.turns.push_back(names_of(turns[turn], data));
    judge_turn(judge, model, data, known, turns[turn], rows,
               fmt::format("judge samples, turn {} of {}", turn + 1, turns.size()), result.samples);
  }
  result.known_seen = accepted_share(result.samples, data, OpenSetKind::known_seen);
  result.known_unseen = accepted_share(result.samples, data, OpenSetKind::known_unseen);
  result.unknown = accepted_share(result.samples, data, OpenSetKind::unknown);
  result.known_right = 100.0 * static_cast<double>(std::ranges::count(result.samples, true, &JudgedSample::right)) /
                       static_cast<double>(result.samples.size() - result.unknown.samples);
  result.by_known_score = quality(result.samples, &JudgedSample::known_score);
  result.by_confidence = quality(result.samples, &JudgedSample::confidence);
  result.no_class = judge_no_class(judge, Ranking(model), data, test, options);
  return result;
}

namespace {

/// Of all features of all samples.
struct Overall {
  float least = 0, largest = 0;
  double mean = 0, sd = 0;
};

Overall overall(const Matrix<float>& features, std::span<const std::int32_t> rows) {
  const double first = features(static_cast<std::size_t>(rows[0]), 0);
  Overall out{static_cast<float>(first), static_cast<float>(first), 0, 0};
  double sum = 0, squares = 0;  // of differences from the first value, so that a large mean loses no digits
  for_each_block(blocks_of(features, rows), [&](std::size_t, MatrixView<const float> block) {
    for (const float v : block.values()) {
      out.least = std::min(out.least, v);
      out.largest = std::max(out.largest, v);
      sum += v - first;
      squares += (v - first) * (v - first);
    }
  });
  const auto n = static_cast<double>(rows.size() * features.cols());
  out.mean = first + sum / n;
  out.sd = std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
  return out;
}

/// `count` samples: each once where there are enough, else some more often.
Matrix<float> drawn(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count, Rng& rng) {
  std::vector<std::int32_t> order(rows.begin(), rows.end());
  rng.shuffle(order);
  std::vector<std::int32_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) chosen[i] = order[i % order.size()];
  std::ranges::sort(chosen);
  return gather_rows(features, chosen);
}

/// `share` of the way from the least to the largest feature.
float between(const Overall& all, double share) {
  return static_cast<float>(all.least + (static_cast<double>(all.largest) - all.least) * share);
}

float as_feature(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

}  // namespace

void visit_no_class_inputs(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count,
                           std::uint64_t seed, const NoClassVisitor& visit) {
  const std::size_t d = features.cols();
  const Overall all = overall(features, rows);
  Matrix<float> inputs(count, d);
  {
    Rng rng(seed, 1);
    for (float& v : inputs.values()) v = between(all, rng.uniform());
    visit("uniform", "uniform between the least and the largest feature", inputs.view());
  }
  {
    Rng rng(seed, 2);
    for (float& v : inputs.values()) v = as_feature(all.mean + all.sd * rng.normal());
    visit("gaussian", "Gaussian with the mean and the standard deviation of the features", inputs.view());
  }
  {
    Rng rng(seed, 3);
    inputs = drawn(features, rows, count, rng);
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t i = count; i > 1; --i) std::swap(inputs(i - 1, j), inputs(rng.below(i), j));
    visit("shuffled", "each feature of another test sample", inputs.view());
  }
  Rng rng(seed, 4);
  const Matrix<float> samples = drawn(features, rows, count, rng);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs.values()[i] = as_feature(samples.values()[i] * std::pow(10.0, 2 * rng.uniform() - 1));
  visit("scaled", "test samples, each feature times a factor of its own from 0.1 to 10", inputs.view());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs.values()[i] = as_feature(samples.values()[i] + 10 * all.sd * rng.normal());
  visit("far", "test samples plus Gaussian noise of 10 standard deviations", inputs.view());
  constexpr std::size_t kConstants = 9;
  Matrix<float> constants(kConstants, d);
  for (std::size_t i = 0; i < kConstants; ++i)
    std::ranges::fill(constants.row(i), between(all, static_cast<double>(i + 1) / kConstants));
  visit("constant", "all features equal: 9 steps above the least feature up to the largest", constants.view());
  visit("zero", "all features 0", Matrix<float>(1, d, 0.0f).view());
}

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isnan(value) ? Json() : Json(value); }

Json share_json(const AcceptedShare& share) {
  const double accepted = share.samples > 0 ? share.accepted : std::nan("");
  const Interval& interval = share.of_classes;
  return {{"samples", share.samples},
          {"classes", share.classes},
          {"accepted", number(accepted)},
          {"rejected", number(100 - accepted)},
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
