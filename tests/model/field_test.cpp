#include "parsnets/field.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "expect.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Classes whose descriptions leave a part of them open.
Dataset weakly_described() {
  return synthesize({.classes = 40,
                     .attributes = 16,
                     .samples = 2000,
                     .dimensions = 64,
                     .unseen = 10,
                     .attribute_noise = 0.4,
                     .signature = 0.3,
                     .nuisance = 0.3,
                     .hidden = 96,
                     .seed = 5});
}

struct Field : testing::Test {
  Dataset data = weakly_described();
  ThreadPool pool{1};
  Model model;
  Matrix<float> pile;  ///< test samples of all classes
  const std::vector<std::int32_t> unseen = data.unseen_classes();

  Field() : model(train(data, test::small_options(), pool)) {
    model.field.strong.reset();  // tests of the strong form set it
    std::vector<std::int32_t> rows = data.split.test_unseen;
    rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
    pile = gather_rows(data.features.view(), rows);
  }

  Model copy() {
    test::TempDir dir;
    save_model(model, dir / "m.safetensors");
    return load_model(dir / "m.safetensors");
  }
  const std::string& name_of(std::int32_t label) const { return data.class_names[static_cast<std::size_t>(label)]; }
  Matrix<float> samples_of(std::int32_t label, std::size_t first, std::size_t count) const {
    std::vector<std::int32_t> rows;
    for (const auto r : data.split.test_unseen)
      if (data.labels[static_cast<std::size_t>(r)] == label) rows.push_back(r);
    return gather_rows(data.features.view(), std::span(rows).subspan(first, count));
  }
  Evaluation evaluated(const Model& m) { return evaluate(m, data, pool); }
};

std::vector<float> field_values(const Matrix<float>& m) { return {m.values().begin(), m.values().end()}; }
std::vector<float> vectors_of(const Model& model) { return field_values(model.class_vectors()); }

double sum_of_products(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

void to_unit(std::vector<double>& v) {
  const double length = std::sqrt(sum_of_products(v, v));
  for (double& x : v) x /= length;
}

/// Rows minus the centre, at unit length.
Rows unit_rows_of(const Matrix<float>& rows, const std::vector<float>& centre = {}) {
  Rows unit;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    unit.emplace_back(rows.row(i).begin(), rows.row(i).end());
    for (std::size_t j = 0; j < centre.size(); ++j) unit.back()[j] -= centre[j];
    to_unit(unit.back());
  }
  return unit;
}

Rows places_of(const Model& model) { return unit_rows_of(model.class_vectors()); }

/// The places that EM gives, by its definition: every class, every sample, in double.
Rows slow_adapt(const Model& model, const Matrix<float>& pile, int rounds, ThreadPool& pool) {
  const FieldSettings& field = model.field;
  const Rows x = unit_rows_of(model.predict(pile.view(), pool), model.semantic_centre), first = places_of(model);
  Rows places = first;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> support(places.size(), 0.0);
    Rows sums(places.size(), std::vector<double>(places[0].size(), 0.0));
    for (const auto& sample : x) {
      std::vector<double> r;
      double total = 0;
      for (std::size_t c = 0; c < places.size(); ++c) {
        r.push_back(std::exp(field.sharpness *
                             (sum_of_products(sample, places[c]) - (model.classes.seen[c] ? model.gamma : 0))));
        total += r.back();
      }
      for (std::size_t c = 0; c < places.size(); ++c) {
        if (model.classes.seen[c] || r[c] / total < field.certainty) continue;
        support[c] += r[c] / total;
        for (std::size_t j = 0; j < sums[c].size(); ++j) sums[c][j] += r[c] / total * sample[j];
      }
    }
    for (std::size_t c = 0; c < places.size(); ++c) {
      places[c] = first[c];
      if (support[c] < 3) continue;
      const double memory = 10 * field.strength, cut = support[c] > memory ? memory / support[c] : 1;
      for (std::size_t j = 0; j < sums[c].size(); ++j) places[c][j] = field.strength * first[c][j] + cut * sums[c][j];
      to_unit(places[c]);
    }
  }
  return places;
}

void expect_near(const Rows& wanted, const Rows& found, double tolerance) {
  ASSERT_EQ(wanted.size(), found.size());
  for (std::size_t c = 0; c < wanted.size(); ++c)
    for (std::size_t j = 0; j < wanted[c].size(); ++j) ASSERT_NEAR(wanted[c][j], found[c][j], tolerance) << c;
}

TEST_F(Field, AdaptIsTheEmOfItsDefinition) {
  for (const double strength : {2.0, 20.0})  // 2: the memory of 20 samples is full
    for (const int rounds : {1, 4}) {
      Model moved = copy();
      moved.field.strength = strength;
      const Rows wanted = slow_adapt(moved, pile, rounds, pool);
      const Adaptation told = adapt(moved, pile.view(), {.classes = {}, .rounds = rounds}, pool);
      EXPECT_FALSE(told.moves.empty());
      EXPECT_LE(told.rounds, rounds);
      expect_near(wanted, places_of(moved), 2e-5);
    }
}

TEST_F(Field, UnlabelledSamplesHelpWhereDescriptionsAreWeak) {
  const Evaluation before = evaluated(model);
  const Adaptation told = adapt(model, pile.view(), {}, pool);
  const Evaluation after = evaluated(model);
  EXPECT_GT(after.zsl.top1_per_class, before.zsl.top1_per_class + 2);
  EXPECT_GT(after.gzsl.h, before.gzsl.h);
  EXPECT_GT(told.likelihood_gain, 0);
  EXPECT_EQ(told.samples, pile.rows());
  EXPECT_GT(told.convincing, 0u);
  for (const ClassMove& move : told.moves) {
    EXPECT_FALSE(model.classes.seen[static_cast<std::size_t>(move.class_index)]);
    EXPECT_GE(move.support, 3);
    EXPECT_GT(move.degrees, 0);
  }
  ASSERT_EQ(model.record.adaptations.size(), 1u);
  EXPECT_EQ(model.record.adaptations[0].classes, told.moves.size());
}

TEST_F(Field, AThousandRoundsEndWhereTwentyDo) {
  Model longer = copy();
  adapt(model, pile.view(), {}, pool);
  const Adaptation told = adapt(longer, pile.view(), {.classes = {}, .rounds = 1000}, pool);
  EXPECT_LT(told.rounds, 1000);
  expect_near(places_of(model), places_of(longer), 1e-3);
}

TEST_F(Field, FromTwoBatchesOnTheModelAdaptsToOneAfterTheOther) {
  Model slow = copy(), whole = copy();
  AdaptOptions options;
  options.batch = pile.rows() / 2 - 1;
  const std::size_t d = pile.cols(), rest = pile.rows() - options.batch;  // the last two go with the second batch
  const Adaptation told = adapt(model, pile.view(), options, pool);
  const Adaptation first = adapt(slow, {pile.data(), options.batch, d}, {}, pool),
                   second = adapt(slow, {pile.row(options.batch).data(), rest, d}, {}, pool);
  EXPECT_EQ(vectors_of(model), vectors_of(slow));
  EXPECT_EQ(model.record.adaptations.size(), 2u);
  EXPECT_EQ(told.samples, pile.rows());
  EXPECT_EQ(told.convincing, first.convincing + second.convincing);
  options.batch = pile.rows() / 2 + 1;
  adapt(whole, pile.view(), options, pool);
  EXPECT_EQ(whole.record.adaptations.size(), 1u);
}

TEST_F(Field, ABadSampleInALaterBatchLeavesTheModelAsItWas) {
  const auto before = vectors_of(model);
  Matrix<float> samples = Matrix<float>::copy_of(pile.view());
  samples(30, 2) = std::nanf("");
  EXPECT_EQ(test::error_of([&] { adapt(model, samples.view(), {.classes = {}, .batch = 20}, pool); }).parts().field,
            "sample 30, feature 2");
  EXPECT_EQ(vectors_of(model), before);
  EXPECT_FALSE(is_adapted(model));
}

TEST_F(Field, TheSamePileAgainAndAgainConverges) {
  model.field.strength = 5;
  Rows last;
  for (int call = 0; call < 100; ++call) {
    last = places_of(model);
    adapt(model, pile.view(), {}, pool);
  }
  expect_near(last, places_of(model), 1e-4);
  for (const float n : model.classes.adapted.samples) EXPECT_LE(n, 10 * 5 * 1.0001f);
  EXPECT_EQ(model.record.adaptations.size(), 100u);
}

TEST_F(Field, TheStrongFormIsUsedWhereTheSamplesSayEnough) {
  model.field.strong = 20;
  model.field.strong_gamma_shift = -0.25;
  const double gamma = model.gamma;
  const auto before = vectors_of(model);
  Model careful = copy(), few = copy(), again = copy();
  careful.field.strong.reset();
  const Adaptation told = adapt(model, pile.view(), {}, pool);
  ASSERT_EQ(told.form, "strong") << told.because;
  EXPECT_EQ(told.moves.size(), unseen.size());
  EXPECT_LE(told.rounds, 100);
  EXPECT_LT(model.gamma, gamma);
  EXPECT_GT(model.gamma, gamma - 0.25);
  EXPECT_EQ(adapt(careful, pile.view(), {}, pool).form, "careful");
  EXPECT_GT(evaluated(model).zsl.top1_per_class, evaluated(again).zsl.top1_per_class + 2);
  // The places are those that the search ended at, also in the file and for other threads and calls.
  ThreadPool three(3);
  for (int call = 0; call < 2; ++call) adapt(again, pile.view(), {}, three);
  expect_near(places_of(model), places_of(again), 1e-6);
  EXPECT_EQ(copy().record.adaptations.back().because, told.because);
  undo_adaptation(model);
  EXPECT_EQ(vectors_of(model), before);
  EXPECT_EQ(model.gamma, gamma);
  const Adaptation of_one = adapt(few, samples_of(unseen[0], 0, 30).view(), {}, pool);
  EXPECT_NE(of_one.form, "strong");
  EXPECT_FALSE(of_one.because.empty());
  EXPECT_NE(adapt(few, pile.view(), {.classes = {name_of(unseen[0])}}, pool).form, "strong");
}

TEST_F(Field, SamplesThatAreTooShortAreLeftOut) {
  model.field.least_length = 1e5;
  const auto before = vectors_of(model);
  const Adaptation told = adapt(model, pile.view(), {}, pool);
  EXPECT_EQ(told.form, "nothing");
  EXPECT_EQ(told.left_out, pile.rows());
  EXPECT_EQ(vectors_of(model), before);
}

TEST_F(Field, UndoRestoresClassVectorsToTheBit) {
  teach(model, name_of(unseen[0]), samples_of(unseen[0], 0, 4).view(), pool);
  const auto before = vectors_of(model);
  adapt(model, pile.view(), {}, pool);
  EXPECT_TRUE(is_adapted(model));
  EXPECT_NE(vectors_of(model), before);
  undo_adaptation(model);
  EXPECT_FALSE(is_adapted(model));
  EXPECT_TRUE(is_taught(model));
  EXPECT_EQ(vectors_of(model), before);
  EXPECT_TRUE(model.record.adaptations.empty());
}

TEST_F(Field, GammaShiftsAsFarAsUnseenClassesFollowSamples) {
  model.gamma = 0.125;
  model.field.gamma_shift = -0.0625;
  const auto shifted = [&] {
    double follow = 0;
    for (const auto c : unseen) {
      const double n = model.classes.adapted.samples[static_cast<std::size_t>(c)];
      follow += n / (n + model.field.strength) / static_cast<double>(unseen.size());
    }
    return 0.125 - 0.5 * 0.0625 * follow;
  };
  const Matrix<float> of_one = samples_of(unseen[0], 0, 40);
  ASSERT_EQ(adapt(model, of_one.view(), {.classes = {name_of(unseen[0])}}, pool).moves.size(), 1u);
  EXPECT_NEAR(model.gamma, shifted(), 1e-12);
  EXPECT_LT(model.gamma, 0.1249);
  EXPECT_GT(model.gamma, 0.125 - 0.5 * 0.0625 / static_cast<double>(unseen.size()));
  const double first = model.gamma;
  const auto moved = adapt(model, pile.view(), {}, pool).moves;
  ASSERT_GT(moved.size(), 1u);
  EXPECT_NEAR(model.gamma, shifted(), 1e-12) << "from the gamma before, not again";
  EXPECT_LT(model.gamma, first);
  Model loaded = copy();
  EXPECT_EQ(loaded.field.gamma_shift, -0.0625);
  EXPECT_EQ(loaded.gamma, model.gamma);
  undo_adaptation(loaded);
  EXPECT_EQ(loaded.gamma, 0.125);
}

TEST_F(Field, TheNumberOfThreadsDoesNotMatter) {
  std::vector<std::vector<float>> vectors;
  for (const unsigned threads : {1u, 2u, 5u}) {
    Model moved = copy();
    ThreadPool own_pool(threads);
    for (int call = 0; call < 2; ++call) adapt(moved, pile.view(), {}, own_pool);
    vectors.push_back(vectors_of(moved));
  }
  EXPECT_EQ(vectors[0], vectors[1]);
  EXPECT_EQ(vectors[0], vectors[2]);
}

TEST_F(Field, ClassesWithoutSupportStayToTheBit) {
  adapt(model, pile.view(), {}, pool);  // they remember something
  const Matrix<float> before = model.class_vectors();
  const Adaptation told = adapt(model, samples_of(unseen[1], 0, 20).view(), {.classes = {name_of(unseen[1])}}, pool);
  ASSERT_EQ(told.moves.size(), 1u);
  EXPECT_EQ(told.moves[0].class_index, unseen[1]);
  const Matrix<float> after = model.class_vectors();
  for (std::size_t c = 0; c < before.rows(); ++c)
    EXPECT_EQ(std::ranges::equal(before.row(c), after.row(c)), static_cast<std::int32_t>(c) != unseen[1]) << c;
  // Two samples convince nobody.
  const auto places = vectors_of(model);
  EXPECT_TRUE(adapt(model, samples_of(unseen[0], 0, 2).view(), {}, pool).moves.empty());
  EXPECT_EQ(vectors_of(model), places);
  EXPECT_EQ(model.record.adaptations.size(), 2u);
}

TEST_F(Field, SeenClassesMoveWhenTheyAreNamed) {
  const auto seen = data.seen_classes();
  const Adaptation told = adapt(model, data.features.view(), {.classes = {name_of(seen[0])}}, pool);
  ASSERT_EQ(told.moves.size(), 1u);
  EXPECT_EQ(told.moves[0].class_index, seen[0]);
}

TEST_F(Field, ExamplesMoveAClassAsItsPosteriorMeanDoes) {
  const auto label = unseen[0];
  const auto c = static_cast<std::size_t>(label);
  for (const std::size_t count : {std::size_t{1}, std::size_t{25}}) {
    Model taught = copy();
    const Matrix<float> examples = samples_of(label, 0, count);
    Rows wanted = places_of(taught);
    for (double& v : wanted[c]) v *= taught.field.example_prior;
    for (const auto& one : unit_rows_of(taught.predict(examples.view(), pool), taught.semantic_centre))
      for (std::size_t j = 0; j < one.size(); ++j) wanted[c][j] += one[j];
    to_unit(wanted[c]);
    // One after the other is the same as all at once.
    for (std::size_t r = 0; r < count; ++r)
      teach(taught, data.class_names[c], {examples.row(r).data(), 1, examples.cols()}, pool);
    expect_near(wanted, places_of(taught), 1e-5);
    EXPECT_EQ(taught.classes.taught.samples[c], static_cast<float>(count));
  }
}

TEST_F(Field, SuggestedSamplesHelpMoreThanDrawnOnes) {
  const std::size_t half = data.split.test_unseen.size() / 2, count = unseen.size();
  std::vector<std::int32_t> rows = data.split.test_unseen;
  Rng(1, 0).shuffle(rows);
  data.split.test_unseen.assign(rows.begin() + static_cast<std::ptrdiff_t>(half), rows.end());
  std::ranges::sort(data.split.test_unseen);
  rows.resize(half);
  const Matrix<float> samples = gather_rows(data.features.view(), rows);
  const auto accuracy = [&](std::span<const std::size_t> labelled) {
    Model taught = copy();
    for (const auto row : labelled)
      teach(taught, name_of(data.labels[static_cast<std::size_t>(rows[row])]),
            {samples.row(row).data(), 1, samples.cols()}, pool);
    return evaluated(taught).zsl.top1_per_class;
  };
  const auto suggested = suggest(model, samples.view(), count, pool);
  ASSERT_EQ(suggested.size(), count);
  EXPECT_EQ(std::set(suggested.begin(), suggested.end()).size(), count);
  double drawn = 0;
  for (std::uint64_t draw = 0; draw < 10; ++draw) {
    std::vector<std::size_t> order(half);
    std::iota(order.begin(), order.end(), 0);
    Rng(draw, 1).shuffle(order);
    order.resize(count);
    drawn += accuracy(order) / 10;
  }
  EXPECT_GT(accuracy(suggested), drawn + 1);
}

TEST_F(Field, FewerSuggestionsAreTheFirstOnesAndLeaveTheModelAsItIs) {
  const auto before = vectors_of(model);
  const double gamma = model.gamma;
  ThreadPool three(3);
  const auto many = suggest(model, pile.view(), 12, pool), few = suggest(model, pile.view(), 5, three);
  EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(5)));
  EXPECT_EQ(vectors_of(model), before);
  EXPECT_EQ(model.gamma, gamma);
  // A class that was taught lies where its samples do: another one is asked about first.
  const auto label = data.labels[static_cast<std::size_t>(data.split.test_unseen[many[0]])];
  teach(model, name_of(label), samples_of(label, 0, 30).view(), pool);
  EXPECT_NE(suggest(model, pile.view(), 1, pool)[0], many[0]);
}

TEST_F(Field, SuggestionsComeOfSamplesThatLookUnseenAlone) {
  EXPECT_LT(suggest(model, pile.view(), pile.rows(), pool).size(), pile.rows());
  model.field.least_length = 1e5;
  EXPECT_TRUE(suggest(model, pile.view(), 3, pool).empty());
  EXPECT_THROW(suggest(model, pile.view(), 0, pool), Error);
  EXPECT_THROW(suggest(model, Matrix<float>(0, pile.cols()).view(), 3, pool), Error);
  EXPECT_THROW(suggest(model, Matrix<float>(2, 3, 1.0f).view(), 3, pool), Error);
}

TEST_F(Field, ExamplesRaiseAccuracy) {
  const double before = evaluated(model).zsl.top1_per_class;
  for (const auto label : unseen) teach(model, name_of(label), samples_of(label, 0, 10).view(), pool);
  EXPECT_GT(evaluated(model).zsl.top1_per_class, before + 3);
}

TEST_F(Field, AClassMayBeKnownByItsExamplesAlone) {
  const auto label = unseen[0];
  const std::string name = name_of(label);
  model.remove_class(name);
  add_class_by_examples(model, name, samples_of(label, 0, 20).view(), pool);
  ASSERT_EQ(model.classes.names.back(), name);
  EXPECT_EQ(model.classes.described.back(), 0);
  const Matrix<float> others = samples_of(label, 20, 30), scores = model.scores(others.view(), pool);
  std::size_t right = 0;
  for (std::size_t r = 0; r < scores.rows(); ++r) {
    std::size_t best = scores.cols() - 1;
    for (std::size_t c = 0; c < scores.cols(); ++c)
      if (scores(r, c) - (model.classes.seen[c] ? model.gamma : 0) > scores(r, best)) best = c;
    right += best == scores.cols() - 1 ? 1 : 0;
  }
  EXPECT_GT(right, scores.rows() / 2);
  EXPECT_THROW(add_class_by_examples(model, name, others.view(), pool), Error);
  EXPECT_THROW(add_class_by_examples(model, "none", Matrix<float>(0, others.cols()).view(), pool), Error);
  EXPECT_THROW(add_class_by_examples(model, "narrow", Matrix<float>(1, 3, 1.0f).view(), pool), Error);
  EXPECT_EQ(model.classes.names.back(), name);
}

TEST_F(Field, SumsStayWithTheirClassesWhenOthersComeAndGo) {
  const auto c = static_cast<std::size_t>(unseen[1]);
  teach(model, data.class_names[c], samples_of(unseen[1], 0, 5).view(), pool);
  adapt(model, pile.view(), {}, pool);
  add_class_by_examples(model, "by examples", samples_of(unseen[1], 0, 5).view(), pool);
  model.add_class("described", data.semantics.values.row(0));
  const Matrix<float> before = model.class_vectors();
  std::map<std::string, std::vector<float>> of_name;
  for (std::size_t i = 0; i < before.rows(); ++i)
    of_name[model.classes.names[i]] = {before.row(i).begin(), before.row(i).end()};
  model.remove_classes(std::vector<std::string>{data.class_names[0], name_of(unseen[0])});
  const Matrix<float> after = model.class_vectors();
  ASSERT_EQ(after.rows(), before.rows() - 2);
  for (std::size_t i = 0; i < after.rows(); ++i)
    EXPECT_TRUE(std::ranges::equal(of_name[model.classes.names[i]], after.row(i))) << model.classes.names[i];
}

TEST_F(Field, ExplanationsStillAddUp) {
  const auto label = unseen[0], other = unseen[1];
  teach(model, name_of(other), samples_of(other, 0, 3).view(), pool);
  for (const auto c : unseen)
    if (c != other) model.remove_class(name_of(c));
  add_class_by_examples(model, "by examples", samples_of(label, 3, 5).view(), pool);
  add_class_by_examples(model, "by others", samples_of(label, 8, 5).view(), pool);
  adapt(model, pile.view(), {}, pool);
  model.gamma = 10;  // the three unseen classes are the first and the second everywhere
  bool told = false;
  for (std::size_t r = 0; r < pile.rows(); r += 7) {
    const Explanation why = explain(model, pile.row(r), pool);
    double sum = why.calibration + why.examples;
    for (const auto& a : why.attributes) sum += a.amount;
    ASSERT_NEAR(sum, why.winner_score - why.runner_up_score, 1e-4) << "sample " << r;
    told |= model.classes.described[static_cast<std::size_t>(why.winner)] == 0;
  }
  EXPECT_TRUE(told);  // a class without a description is among the winners
}

TEST_F(Field, AModelFileKeepsWhatWasLearned) {
  const auto label = unseen[0];
  model.field = {7, 30, 35, 0.8, -0.125, 40, -0.5, 0.01};
  add_class_by_examples(model, "by examples", samples_of(label, 0, 5).view(), pool);
  adapt(model, pile.view(), {}, pool);
  Model read = copy();
  EXPECT_EQ(read.field, model.field);
  EXPECT_EQ(read.record, model.record);
  EXPECT_EQ(read.classes.described, model.classes.described);
  EXPECT_EQ(vectors_of(read), vectors_of(model));
  // What was read belongs to the file: learning goes on beside it.
  for (Model* one : {&read, &model}) {
    teach(*one, "by examples", samples_of(label, 5, 5).view(), pool);
    adapt(*one, pile.view(), {}, pool);
  }
  EXPECT_EQ(vectors_of(read), vectors_of(model));
  undo_adaptation(read);
  EXPECT_NE(vectors_of(read), vectors_of(model));
}

TEST_F(Field, WhatDoesNotFitIsRefusedAndChangesNothing) {
  const auto before = vectors_of(model);
  Matrix<float> broken = Matrix<float>::copy_of(pile.view());
  broken(3, 2) = std::nanf("");
  for (const AdaptOptions& wrong : {AdaptOptions{.classes = {"no such class"}}, {.classes = {}, .rounds = 0}})
    EXPECT_THROW(adapt(model, pile.view(), wrong, pool), Error);
  EXPECT_THROW(adapt(model, broken.view(), {}, pool), Error);
  EXPECT_THROW(adapt(model, Matrix<float>(0, pile.cols()).view(), {}, pool), Error);
  EXPECT_THROW(adapt(model, Matrix<float>(9, 2, 1.0f).view(), {}, pool), Error);
  EXPECT_THROW(teach(model, "no such class", pile.view(), pool), Error);
  EXPECT_THROW(teach(model, data.class_names[0], broken.view(), pool), Error);
  EXPECT_EQ(vectors_of(model), before);
  EXPECT_FALSE(is_adapted(model));
  EXPECT_FALSE(is_taught(model));
  test::TrainedModel semantic("ridge");
  ASSERT_EQ(semantic.model.targets, Targets::semantics);
  const auto x = semantic.data.features.view();
  EXPECT_THROW(adapt(semantic.model, x, {}, semantic.pool), Error);
  EXPECT_THROW(teach(semantic.model, semantic.data.class_names[0], x, semantic.pool), Error);
  EXPECT_THROW(add_class_by_examples(semantic.model, "new", x, semantic.pool), Error);
}

}  // namespace
}  // namespace parsnets
