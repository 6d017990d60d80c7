#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/mapped_rows.hpp"
#include "base/rows.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "parsnets/open_set_evaluation.hpp"
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

struct Trained : test::TrainedModel {
  Trained() : TrainedModel(Method::parsnets) { model.rejection = by_score(); }
  const std::string& name_of(std::int32_t row) const {
    return data.class_names[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(row)])];
  }
  Names unseen_names() const {
    Names names;
    for (const auto c : data.unseen_classes()) names.push_back(data.class_names[static_cast<std::size_t>(c)]);
    return names;
  }
};

/// Trained once: the tests change copies.
const Trained& trained() {
  static const Trained t;
  return t;
}

struct Copy {
  Dataset data = test::small_training_set();
  Model model = copy_in_memory(trained().model);
  ThreadPool pool{1};
  Copy() { model.rejection = by_score(); }
};

void expect_error(ErrorCode code, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

OpenSetEvaluationOptions few_inputs(Names unknown = {}, std::uint64_t seed = 1) {
  OpenSetEvaluationOptions options;
  options.unknown_classes = std::move(unknown);
  options.inputs = 20;
  options.seed = seed;
  return options;
}

}  // namespace

TEST(OpenSet, ASampleIsJudgedAsByAModelWithoutTheUnknownClasses) {
  Copy t;
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  ASSERT_EQ(result.turns.size(), 2u);
  const std::size_t rows = t.data.split.test_seen.size() + t.data.split.test_unseen.size();
  ASSERT_EQ(result.samples.size(), 2 * rows);
  for (std::size_t turn = 0; turn < 2; ++turn) {
    Model without = copy_in_memory(t.model);
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
      const std::string& name = trained().name_of(sample.row);
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
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  Names all = result.turns[0];
  all.insert(all.end(), result.turns[1].begin(), result.turns[1].end());
  EXPECT_LE(result.turns[0].size() - result.turns[1].size(), 1u) << "halves";
  Names unseen = trained().unseen_names();
  std::ranges::sort(all);
  std::ranges::sort(unseen);
  EXPECT_EQ(all, unseen);
  EXPECT_EQ(result.unknown.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(result.known_unseen.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(result.known_seen.samples, 2 * t.data.split.test_seen.size());
  EXPECT_EQ(result.unknown.classes, unseen.size());
  EXPECT_EQ(result.known_seen.classes, t.data.seen_classes().size());
  bool other_halves = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed)
    other_halves |= evaluate_open_set(t.model, t.data, few_inputs({}, seed), t.pool).turns != result.turns;
  EXPECT_TRUE(other_halves);
}

TEST(OpenSet, SharesAndAreasAreThoseOfTheSamples) {
  Copy t;
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
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
    auto& [of_class, all_of_class] = classes[trained().name_of(sample.row)];
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
  EXPECT_EQ(result.by_known_score.auroc, auroc(known_scores, unknown_scores));
  EXPECT_EQ(result.by_known_score.fpr95, false_positive_rate(known_scores, unknown_scores));
  EXPECT_EQ(result.by_confidence.auroc, auroc(known_confidences, unknown_confidences));
  EXPECT_LE(result.by_known_score.oscr, result.known_right);
  EXPECT_NEAR(result.by_known_score.oscr_curve.back().known, result.known_right, 1e-9);
  EXPECT_EQ(result.by_confidence.roc.back().known, 100);
}

TEST(OpenSet, NamedClassesAreLeftOutInOneTurn) {
  Copy t;
  const Names unseen = trained().unseen_names();
  const auto one = evaluate_open_set(t.model, t.data, few_inputs({unseen[1]}), t.pool);
  EXPECT_EQ(one.turns, (std::vector<Names>{{unseen[1]}}));
  EXPECT_EQ(one.unknown.classes, 1u);
  EXPECT_TRUE(std::isnan(one.unknown.of_classes.low));
  EXPECT_EQ(one.known_unseen.classes, unseen.size() - 1);
  EXPECT_EQ(one.known_seen.samples, t.data.split.test_seen.size());
  const auto all = evaluate_open_set(t.model, t.data, few_inputs(unseen), t.pool);
  EXPECT_EQ(all.known_unseen.samples, 0u);
  EXPECT_TRUE(std::isnan(all.known_unseen.of_classes.mean));
  EXPECT_EQ(all.unknown.samples, t.data.split.test_unseen.size());
}

TEST(OpenSet, ClassesThatTheBankLacksAreUnknownAndNoOthersAreLeftOut) {
  Copy t;
  const Names unseen = trained().unseen_names();
  t.model.remove_class(unseen[0]);
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  EXPECT_EQ(result.not_in_bank, Names{unseen[0]});
  std::size_t own = 0, unknown = 0;
  for (const auto row : t.data.split.test_unseen) own += trained().name_of(row) == unseen[0];
  for (const auto& sample : result.samples)
    if (trained().name_of(sample.row) == unseen[0]) {
      EXPECT_EQ(sample.kind, OpenSetKind::unknown);
      ++unknown;
    }
  EXPECT_EQ(unknown, own);
  EXPECT_EQ(result.unknown.classes, 1u);
  EXPECT_EQ(result.turns, std::vector<Names>{{}});
  // With all of them out of the bank there is nothing to leave out, and still something unknown.
  t.model.remove_classes(Names(unseen.begin() + 1, unseen.end()));
  const auto none = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  EXPECT_EQ(none.turns, std::vector<Names>{{}});
  EXPECT_EQ(none.unknown.samples, t.data.split.test_unseen.size());
  EXPECT_EQ(none.known_unseen.samples, 0u);
}

TEST(OpenSet, ASingleUnseenClassIsLeftOut) {
  Copy t;
  const Names unseen = trained().unseen_names();
  std::erase_if(t.data.split.test_unseen, [&](std::int32_t row) { return trained().name_of(row) != unseen[2]; });
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  EXPECT_EQ(result.turns, (std::vector<Names>{{unseen[2]}}));
  EXPECT_EQ(result.known_unseen.samples, 0u);
  t.data.split.test_seen.clear();
  expect_error(ErrorCode::bad_input, "classes that stay in the bank",
               [&] { evaluate_open_set(t.model, t.data, few_inputs(), t.pool); });
}

TEST(OpenSet, InputsOfNoClassAreJudgedAmongAllClasses) {
  Copy t;
  const auto result = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
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
  for (const auto& inputs : evaluate_open_set(t.model, t.data, few_inputs(), t.pool).no_class)
    EXPECT_EQ(inputs.rejected, 0) << inputs.name;
  t.model.rejection.range[1][0] = -1e5f;
  const auto rejected = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  for (const auto& inputs : rejected.no_class) {
    EXPECT_EQ(inputs.rejected, 100) << inputs.name;
    EXPECT_EQ(inputs.auroc, 50) << inputs.name;
  }
  EXPECT_EQ(rejected.known_seen.accepted, 0);
}

TEST(OpenSet, ResultsDoNotDependOnTheNumberOfThreads) {
  Copy t;
  ThreadPool three(3);
  const auto a = evaluate_open_set(t.model, t.data, few_inputs(), t.pool);
  const auto b = evaluate_open_set(t.model, t.data, few_inputs(), three);
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].known_score, b.samples[i].known_score);
    EXPECT_EQ(a.samples[i].confidence, b.samples[i].confidence);
  }
  for (std::size_t k = 0; k < a.no_class.size(); ++k) EXPECT_EQ(a.no_class[k].auroc, b.no_class[k].auroc);
}

TEST(OpenSet, FieldLearningIsToldInAWarning) {
  Copy t;
  const Names unseen = trained().unseen_names();
  EXPECT_TRUE(evaluate_open_set(t.model, t.data, few_inputs(), t.pool).warnings.empty());
  const Matrix<float> x = gather_rows(t.data.features, std::span(t.data.split.test_unseen).first(1));
  teach(t.model, unseen[0], x.view(), t.pool);
  const auto warnings = evaluate_open_set(t.model, t.data, few_inputs(), t.pool).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("taught"), std::string::npos);
}

TEST(OpenSet, WhatCannotBeEvaluatedIsRefused) {
  Copy t;
  const auto evaluate_with = [&](const OpenSetEvaluationOptions& options) {
    evaluate_open_set(t.model, t.data, options, t.pool);
  };
  const Names unseen = trained().unseen_names();
  const std::string& seen = t.data.class_names[static_cast<std::size_t>(t.data.seen_classes()[0])];
  expect_error(ErrorCode::bad_input, "did you mean", [&] { evaluate_with(few_inputs({unseen[0] + "x"})); });
  expect_error(ErrorCode::bad_input, "unseen", [&] { evaluate_with(few_inputs({seen})); });
  OpenSetEvaluationOptions none;
  none.inputs = 0;
  expect_error(ErrorCode::usage, "at least 1", [&] { evaluate_with(none); });
  const auto test_seen = t.data.split.test_seen;
  t.data.split.test_seen.clear();
  expect_error(ErrorCode::bad_input, "stay in the bank", [&] { evaluate_with(few_inputs(unseen)); });
  t.data.split.test_seen = test_seen;
  t.model.classes.seen[0] ^= 1;  // either a test_seen class the model was not trained on, or an unseen one it was
  expect_error(ErrorCode::bad_input, "trained on", [&] { evaluate_with(few_inputs()); });
  t.model.classes.seen[0] ^= 1;
  t.model.rejection = {};
  expect_error(ErrorCode::usage, "false-accept", [&] { evaluate_with(few_inputs()); });
}

}  // namespace parsnets
