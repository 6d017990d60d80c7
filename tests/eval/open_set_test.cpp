#include "eval/open_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/rng.hpp"
#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "copied_model.hpp"
#include "expect.hpp"
#include "model/prediction.hpp"
#include "parsnets/field.hpp"
#include "parsnets/predictor.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

using Names = std::vector<std::string>;

/// Known by score and margin alone, in a range that all of them are in; other weights by the kind of the best class.
Rejection by_score() {
  Rejection rejection;
  rejection.weights[0][0] = 1;
  rejection.weights[1][0] = 1;
  rejection.weights[1][1] = 0.5f;
  rejection.range[0].fill(-1e6f);
  rejection.range[1].fill(1e6f);
  rejection.thresholds = {0.35f, 0.45f};
  rejection.false_accept = 0.05;
  return rejection;
}

/// Trained once: the tests change copies.
const test::TrainedModel& trained() {
  static const test::TrainedModel t("parsnets");
  return t;
}

struct Copy {
  Dataset data = test::small_training_set();
  Model model = test::copied_model(trained().model);
  ThreadPool pool{1};
  Names unseen;  ///< of the unseen classes
  Copy() {
    model.rejection = by_score();
    for (const auto c : data.unseen_classes()) unseen.push_back(data.class_names[static_cast<std::size_t>(c)]);
  }
  const std::string& name_of(std::int32_t row) const {
    return data.class_names[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)])];
  }
  OpenSetEvaluation evaluated(const Names& unknown = {}, std::uint64_t seed = 1) {
    return evaluate_open_set(model, data, {unknown, 20, seed}, pool);
  }
};

/// Of a copy as it is.
const OpenSetEvaluation& evaluated_copy() {
  static const OpenSetEvaluation result = Copy().evaluated();
  return result;
}

}  // namespace

TEST(OpenSet, ASampleIsJudgedAsByAModelWithoutTheUnknownClasses) {
  Copy t;
  const auto& result = evaluated_copy();
  ASSERT_EQ(result.turns.size(), 2u);
  const std::size_t rows = t.data.split.test_seen.size() + t.data.split.test_unseen.size();
  ASSERT_EQ(result.samples.size(), 2 * rows);
  for (std::size_t turn = 0; turn < 2; ++turn) {
    Model without = test::copied_model(t.model);
    without.rejection = t.model.rejection;
    without.remove_classes(result.turns[turn]);
    const Predictor predictor(without, t.pool);
    const Ranking ranking(without);
    for (std::size_t i = 0; i < rows; i += 7) {
      const JudgedSample& sample = result.samples[turn * rows + i];
      const Matrix<float> x = gather_rows(t.data.features, std::span(&sample.row, 1));
      std::vector<RankedClass> best(1);
      std::vector<Evidence> evidence(1);
      predictor.rank(x.view(), ranking, t.pool, best, evidence);
      const auto place = static_cast<std::size_t>(best[0].class_index);
      const std::string& name = t.name_of(sample.row);
      const bool unknown = std::ranges::count(result.turns[turn], name) > 0;
      const bool seen = without.classes.seen[place] != 0;
      EXPECT_EQ(sample.kind == OpenSetKind::unknown, unknown);
      EXPECT_EQ(sample.right, without.classes.names[place] == name);
      EXPECT_NEAR(sample.confidence, best[0].confidence, 1e-5);
      EXPECT_NEAR(sample.known_score, without.rejection.known_score(evidence[0], seen), 1e-5);
      EXPECT_NEAR(sample.above_threshold, sample.known_score - without.rejection.thresholds[seen ? 1 : 0], 1e-6);
      EXPECT_EQ(sample.above_threshold < 0, without.rejection.is_unknown(evidence[0], seen));
    }
  }
}

TEST(OpenSet, EachUnseenClassIsUnknownInOneTurnAndKnownInTheOther) {
  Copy t;
  const auto& result = evaluated_copy();
  Names all = result.turns[0];
  all.insert(all.end(), result.turns[1].begin(), result.turns[1].end());
  EXPECT_LE(result.turns[0].size() - result.turns[1].size(), 1u) << "halves";
  std::ranges::sort(all);
  std::ranges::sort(t.unseen);
  EXPECT_EQ(all, t.unseen);
  EXPECT_EQ(result.unknown.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(result.known_unseen.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(result.known_seen.samples, 2 * t.data.split.test_seen.size());
  EXPECT_EQ(result.unknown.classes, t.unseen.size());
  EXPECT_EQ(result.known_seen.classes, t.data.seen_classes().size());
  bool other_halves = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) other_halves |= t.evaluated({}, seed).turns != result.turns;
  EXPECT_TRUE(other_halves);
}

TEST(OpenSet, SharesAndAreasAreThoseOfTheSamples) {
  const Copy t;
  const auto& result = evaluated_copy();
  std::map<OpenSetKind, std::pair<double, double>> counts;   // accepted, all
  std::map<std::string, std::pair<double, double>> classes;  // of the unknown ones
  double right = 0, known = 0;
  std::vector<float> known_scores, unknown_scores, known_confidences, unknown_confidences;
  for (const auto& sample : result.samples) {
    auto& [accepted, all] = counts[sample.kind];
    accepted += sample.above_threshold >= 0;
    ++all;
    const bool unknown = sample.kind == OpenSetKind::unknown;
    (unknown ? unknown_scores : known_scores).push_back(sample.known_score);
    (unknown ? unknown_confidences : known_confidences).push_back(sample.confidence);
    known += !unknown;
    right += sample.right;
    if (!unknown) continue;
    auto& [of_class, all_of_class] = classes[t.name_of(sample.row)];
    of_class += sample.above_threshold >= 0;
    ++all_of_class;
  }
  const auto share = [&](OpenSetKind kind) { return 100 * counts[kind].first / counts[kind].second; };
  EXPECT_DOUBLE_EQ(result.known_seen.accepted, share(OpenSetKind::known_seen));
  EXPECT_DOUBLE_EQ(result.known_unseen.accepted, share(OpenSetKind::known_unseen));
  EXPECT_DOUBLE_EQ(result.unknown.accepted, share(OpenSetKind::unknown));
  EXPECT_DOUBLE_EQ(result.known_right, 100 * right / known);
  std::vector<double> shares;
  for (const auto& [name, of] : classes) shares.push_back(100 * of.first / of.second);
  const Interval interval = confidence_interval(shares);
  EXPECT_NEAR(result.unknown.of_classes.mean, interval.mean, 1e-9);
  EXPECT_NEAR(result.unknown.of_classes.low, std::max(0.0, interval.low), 1e-9);
  EXPECT_NEAR(result.unknown.of_classes.high, std::min(100.0, interval.high), 1e-9);
  EXPECT_EQ(result.by_known_score.auroc, roc(known_scores, unknown_scores).area);
  EXPECT_EQ(result.by_known_score.fpr95, fpr95(known_scores, unknown_scores));
  EXPECT_EQ(result.by_confidence.auroc, roc(known_confidences, unknown_confidences).area);
  EXPECT_LE(result.by_known_score.oscr, result.known_right);
  EXPECT_NEAR(result.by_known_score.oscr_curve.back().known, result.known_right, 1e-9);
  EXPECT_EQ(result.by_confidence.roc.back().known, 100);
}

TEST(OpenSet, NamedClassesOrASingleUnseenOneAreLeftOutInOneTurn) {
  Copy t;
  const auto one = t.evaluated({t.unseen[1]});
  EXPECT_EQ(one.turns, (std::vector<Names>{{t.unseen[1]}}));
  EXPECT_EQ(one.unknown.classes, 1u);
  EXPECT_TRUE(std::isnan(one.unknown.of_classes.low));
  EXPECT_EQ(one.known_unseen.classes, t.unseen.size() - 1);
  EXPECT_EQ(one.known_seen.samples, t.data.split.test_seen.size());
  const auto all = t.evaluated(t.unseen);
  EXPECT_EQ(all.known_unseen.samples, 0u);
  EXPECT_TRUE(std::isnan(all.known_unseen.of_classes.mean));
  EXPECT_EQ(all.unknown.samples, t.data.split.test_unseen.size());
  std::erase_if(t.data.split.test_unseen, [&](std::int32_t row) { return t.name_of(row) != t.unseen[2]; });
  const auto single = t.evaluated();
  EXPECT_EQ(single.turns, (std::vector<Names>{{t.unseen[2]}}));
  EXPECT_EQ(single.known_unseen.samples, 0u);
  t.data.split.test_seen.clear();
  test::expect_error([&] { t.evaluated(); }, "classes that stay in the bank");
}

TEST(OpenSet, ClassesThatTheBankLacksAreUnknownAndNoOthersAreLeftOut) {
  Copy t;
  t.model.remove_class(t.unseen[0]);
  const auto result = t.evaluated();
  EXPECT_EQ(result.not_in_bank, Names{t.unseen[0]});
  std::size_t own = 0, unknown = 0;
  for (const auto row : t.data.split.test_unseen) own += t.name_of(row) == t.unseen[0];
  for (const auto& sample : result.samples)
    if (t.name_of(sample.row) == t.unseen[0]) {
      EXPECT_EQ(sample.kind, OpenSetKind::unknown);
      ++unknown;
    }
  EXPECT_EQ(unknown, own);
  EXPECT_EQ(result.unknown.classes, 1u);
  EXPECT_EQ(result.turns, std::vector<Names>{{}});
  // With all of them out of the bank there is nothing to leave out, and still something unknown.
  t.model.remove_classes(Names(t.unseen.begin() + 1, t.unseen.end()));
  const auto none = t.evaluated();
  EXPECT_EQ(none.turns, std::vector<Names>{{}});
  EXPECT_EQ(none.unknown.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(none.known_unseen.samples, 0u);
}

TEST(OpenSet, InputsOfNoClassAreJudgedAmongAllClasses) {
  Copy t;
  const auto& result = evaluated_copy();
  Names kinds;
  for (const auto& inputs : result.no_class) {
    kinds.emplace_back(inputs.name);
    EXPECT_FALSE(inputs.features.empty());
    EXPECT_GE(inputs.rejected, 0);
    EXPECT_LE(inputs.rejected, 100);
  }
  EXPECT_EQ(kinds, (Names{"uniform", "gaussian", "shuffled", "scaled", "far", "constant", "zero"}));
  EXPECT_EQ(result.no_class[0].inputs, 20u);
  EXPECT_EQ(result.no_class[5].inputs, 9u);
  // The zero vector by hand.
  const Predictor predictor(t.model, t.pool);
  std::vector<RankedClass> best(1);
  std::vector<Evidence> evidence(1);
  predictor.rank(Matrix<float>(1, t.model.dimensions, 0.0f).view(), Ranking(t.model), t.pool, best, evidence);
  const bool seen = t.model.classes.seen[static_cast<std::size_t>(best[0].class_index)] != 0;
  EXPECT_EQ(result.no_class[6].rejected, t.model.rejection.is_unknown(evidence[0], seen) ? 100 : 0);
  // Nothing is rejected by thresholds below every score, and everything by a range that nothing is in.
  t.model.rejection.thresholds = {-1e9f, -1e9f};
  for (const auto& inputs : t.evaluated().no_class) EXPECT_EQ(inputs.rejected, 0) << inputs.name;
  t.model.rejection.range[1][0] = -1e5f;
  const auto rejected = t.evaluated();
  for (const auto& inputs : rejected.no_class) {
    EXPECT_EQ(inputs.rejected, 100) << inputs.name;
    EXPECT_EQ(inputs.auroc, 50) << inputs.name;
  }
  EXPECT_EQ(rejected.known_seen.accepted, 0);
}

TEST(OpenSet, ResultsDoNotDependOnTheNumberOfThreads) {
  Copy t;
  ThreadPool three(3);
  const auto& a = evaluated_copy();
  const auto b = evaluate_open_set(t.model, t.data, {{}, 20, 1}, three);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].known_score, b.samples[i].known_score);
    EXPECT_EQ(a.samples[i].confidence, b.samples[i].confidence);
  }
  for (std::size_t k = 0; k < a.no_class.size(); ++k) EXPECT_EQ(a.no_class[k].auroc, b.no_class[k].auroc);
}

TEST(OpenSet, FieldLearningIsToldInAWarningAndWhatCannotBeEvaluatedIsRefused) {
  Copy t;
  using test::expect_error;
  const std::string& seen = t.data.class_names[static_cast<std::size_t>(t.data.seen_classes()[0])];
  expect_error([&] { t.evaluated({t.unseen[0] + "x"}); }, "did you mean");
  expect_error([&] { t.evaluated({seen}); }, "unseen");
  expect_error([&] { evaluate_open_set(t.model, t.data, {{}, 0, 1}, t.pool); }, "at least 1", ErrorCode::usage);
  const auto test_seen = t.data.split.test_seen;
  t.data.split.test_seen.clear();
  expect_error([&] { t.evaluated(t.unseen); }, "stay in the bank");
  t.data.split.test_seen = test_seen;
  t.model.classes.seen[0] ^= 1;  // either a test_seen class the model was not trained on, or an unseen one it was
  expect_error([&] { t.evaluated(); }, "trained on");
  t.model.classes.seen[0] ^= 1;
  EXPECT_TRUE(evaluated_copy().warnings.empty());
  const Matrix<float> x = gather_rows(t.data.features, std::span(t.data.split.test_unseen).first(1));
  teach(t.model, t.unseen[0], x.view(), t.pool);
  const auto warnings = t.evaluated().warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_MENTIONS(warnings[0], "taught");
  t.model.rejection = {};
  expect_error([&] { t.evaluated(); }, "false-accept", ErrorCode::usage);
}

namespace {

constexpr std::size_t kRows = 300, kColumns = 5;

/// Feature j of sample i is about 10·j; each sample is a line of its own, so that samples are recognised.
Matrix<float> features() {
  Matrix<float> x(kRows, kColumns);
  Rng rng(4);
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j) x(i, j) = static_cast<float>(10 * static_cast<double>(j) + rng.normal());
  return x;
}

/// From all rows if none are given.
std::map<std::string, Matrix<float>> made(const Matrix<float>& x, std::size_t count,
                                          std::vector<std::int32_t> rows = {}, std::uint64_t seed = 1) {
  if (rows.empty()) {
    rows.resize(x.rows());
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::map<std::string, Matrix<float>> kinds;
  visit_no_class_inputs(x, rows, count, seed,
                        [&](std::string_view name, std::string_view, MatrixView<const float> inputs) {
                          kinds.emplace(name, Matrix<float>::copy_of(inputs));
                        });
  return kinds;
}

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sd(std::span<const float> values) {
  const double m = mean(values);
  double sum = 0;
  for (const float v : values) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<float> column(const Matrix<float>& x, std::size_t j) {
  std::vector<float> values;
  for (std::size_t i = 0; i < x.rows(); ++i) values.push_back(x(i, j));
  std::ranges::sort(values);
  return values;
}

}  // namespace

TEST(NoClassInputs, NoiseHasTheRangeOrTheMomentsOfTheFeaturesAndConstantsGoUpToTheLargest) {
  const Matrix<float> x = features();
  const auto kinds = made(x, 2000);
  const auto [least, largest] = std::ranges::minmax(x.values());
  const auto& uniform = kinds.at("uniform");
  ASSERT_EQ(uniform.rows(), 2000u);
  ASSERT_EQ(uniform.cols(), kColumns);
  const auto [low, high] = std::ranges::minmax(uniform.values());
  EXPECT_GE(low, least);
  EXPECT_LE(high, largest);
  EXPECT_LT(low, least + 0.1f);
  EXPECT_GT(high, largest - 0.1f);
  EXPECT_NEAR(mean(uniform.values()), (least + largest) / 2, 1);
  const auto& gaussian = kinds.at("gaussian");
  EXPECT_NEAR(mean(gaussian.values()), mean(x.values()), 0.6);
  EXPECT_NEAR(sd(gaussian.values()), sd(x.values()), 0.4);
  const auto& constant = kinds.at("constant");
  EXPECT_EQ(constant.rows(), 9u);
  for (std::size_t i = 0; i < constant.rows(); ++i)
    for (const float v : constant.row(i)) EXPECT_EQ(v, constant(i, 0));
  EXPECT_FLOAT_EQ(constant(8, 0), std::ranges::max(x.values()));
  EXPECT_GT(constant(0, 0), std::ranges::min(x.values()));
  EXPECT_EQ(kinds.at("zero").rows(), 1u);
  for (const float v : kinds.at("zero").values()) EXPECT_EQ(v, 0);
}

TEST(NoClassInputs, ShuffledOnesHaveTheFeaturesOfTheSamplesAndNoSample) {
  const Matrix<float> x = features();
  const auto kinds = made(x, kRows);
  const auto& shuffled = kinds.at("shuffled");
  for (std::size_t j = 0; j < kColumns; ++j) EXPECT_EQ(column(shuffled, j), column(x, j));
  std::size_t samples = 0;
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t r = 0; r < kRows; ++r) samples += std::ranges::equal(shuffled.row(i), x.row(r));
  EXPECT_EQ(samples, 0u);
}

TEST(NoClassInputs, MovedOnesAreFactorsAndOffsetsAwayFromSamples) {
  Matrix<float> x(1, 400);
  Rng rng(5);
  for (float& v : x.values()) v = static_cast<float>(1 + rng.uniform());
  const auto kinds = made(x, 3);  // the one sample three times
  const auto& scaled = kinds.at("scaled");
  const auto& far = kinds.at("far");
  ASSERT_EQ(scaled.rows(), 3u);
  double least = 1, most = 1;
  for (std::size_t j = 0; j < x.cols(); ++j) {
    const double factor = scaled(1, j) / x(0, j);
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_GE(least, 0.0999);
  EXPECT_LT(least, 0.12);
  EXPECT_LE(most, 10.001);
  EXPECT_GT(most, 8);
  std::vector<float> moved;
  for (std::size_t j = 0; j < x.cols(); ++j) moved.push_back(far(2, j) - x(0, j));
  EXPECT_NEAR(sd(moved), 10 * sd(x.values()), sd(x.values()));
  EXPECT_FALSE(std::ranges::equal(far.row(0), far.row(1)));
}

TEST(NoClassInputs, DependOnTheSeedAndOnTheGivenRowsAlone) {
  Matrix<float> x = features();
  const std::vector<std::int32_t> some{3, 4, 5, 90, 91, 200};
  const auto a = made(x, 8, some), other = made(x, 8, some, 2);
  for (std::size_t i = 0; i < kRows; ++i)
    if (std::ranges::find(some, static_cast<std::int32_t>(i)) == some.end()) std::ranges::fill(x.row(i), 1e6f);
  const auto b = made(x, 8, some);
  for (const auto& [name, inputs] : a) EXPECT_TRUE(std::ranges::equal(inputs.values(), b.at(name).values())) << name;
  for (const char* name : {"uniform", "gaussian", "shuffled", "scaled", "far"})
    EXPECT_FALSE(std::ranges::equal(a.at(name).values(), other.at(name).values())) << name;
}

TEST(NoClassInputs, StayFiniteForTheLargestFeatures) {
  Matrix<float> x(2, 3, std::numeric_limits<float>::max());
  x(1, 1) = std::numeric_limits<float>::lowest();
  for (const auto& [name, inputs] : made(x, 50))
    for (const float v : inputs.values()) EXPECT_TRUE(std::isfinite(v)) << name;
}

TEST(OpenSetJson, HasPercentAndNullWhereThereIsNoFigure) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  OpenSetEvaluation result;
  result.turns = {{"deer", "truck"}};
  result.known_seen = {200, 4, 90, {91, 2, 88, 94}};
  result.known_unseen = {0, 0, 0, {nan, nan, nan, nan}};
  result.unknown = {50, 1, 4, {4, nan, nan, nan}};
  result.known_right = 81;
  result.by_known_score = {95, 20, 78, {}, {}};
  result.by_confidence = {70, 60, 50, {}, {}};
  result.no_class = {{"zero", "all features 0", 1, 100, 99}};
  Rejection rejection;
  rejection.false_accept = 0.05;
  const auto json = open_set_json(result, rejection);
  EXPECT_EQ(json["false_accept"], 5);
  EXPECT_EQ(json["turns"][0][1], "truck");
  EXPECT_EQ(json["known_seen"]["rejected"], 10);
  EXPECT_EQ(json["known_seen"]["accepted_of_classes"]["high"], 94);
  EXPECT_TRUE(json["known_unseen"]["accepted"].is_null());
  EXPECT_TRUE(json["known_unseen"]["accepted_of_classes"]["mean"].is_null());
  EXPECT_EQ(json["unknown"]["accepted_of_classes"]["mean"], 4);
  EXPECT_TRUE(json["unknown"]["accepted_of_classes"]["low"].is_null());
  EXPECT_EQ(json["known_score"]["oscr"], 78);
  EXPECT_EQ(json["confidence"]["fpr95"], 60);
  EXPECT_EQ(json["no_class"][0]["auroc"], 99);
  EXPECT_FALSE(json.contains("warnings"));
  result.warnings = {"one attribute"};
  EXPECT_EQ(open_set_json(result, rejection)["warnings"][0], "one attribute");
}

}  // namespace parsnets
