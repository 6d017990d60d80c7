#include "parsnets/field.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/sample_set.hpp"
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

struct Field {
  Dataset data = weakly_described();
  ThreadPool pool{1};
  Model model;
  Matrix<float> pile;  ///< test samples of all classes

  Field() : model(train(data, test::small_options(), pool)) {
    std::vector<std::int32_t> rows = data.split.test_unseen;
    rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
    pile = gather_rows(data.features.view(), rows);
  }

  Model copy() {
    test::TempDir dir;
    save_model(model, dir / "m.safetensors");
    return load_model(dir / "m.safetensors");
  }
  /// The name of unseen class `i`.
  const std::string& unseen_name(std::size_t i) const {
    return data.class_names[static_cast<std::size_t>(data.unseen_classes()[i])];
  }
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

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

void to_unit(std::vector<double>& v) {
  const double length = std::sqrt(dot(v, v));
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
        r.push_back(std::exp(field.sharpness * (dot(sample, places[c]) - (model.classes.seen[c] ? model.gamma : 0))));
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

TEST(Field, AdaptIsTheEmOfItsDefinition) {
  Field f;
  for (const double strength : {2.0, 20.0})  // 2: the memory of 20 samples is full
    for (const int rounds : {1, 4}) {
      Model model = f.copy();
      model.field.strength = strength;
      const Rows wanted = slow_adapt(model, f.pile, rounds, f.pool);
      const Adaptation told = adapt(model, f.pile.view(), {.classes = {}, .rounds = rounds}, f.pool);
      EXPECT_FALSE(told.moves.empty());
      EXPECT_LE(told.rounds, rounds);
      expect_near(wanted, places_of(model), 2e-5);
    }
}

TEST(Field, UnlabelledSamplesHelpWhereDescriptionsAreWeak) {
  Field f;
  const Evaluation before = f.evaluated(f.model);
  const Adaptation told = adapt(f.model, f.pile.view(), {}, f.pool);
  const Evaluation after = f.evaluated(f.model);
  EXPECT_GT(after.zsl.top1_per_class, before.zsl.top1_per_class + 2);
  EXPECT_GT(after.gzsl.h, before.gzsl.h);
  EXPECT_GT(told.likelihood_gain, 0);
  EXPECT_EQ(told.samples, f.pile.rows());
  EXPECT_GT(told.convincing, 0u);
  for (const ClassMove& move : told.moves) {
    EXPECT_FALSE(f.model.classes.seen[static_cast<std::size_t>(move.class_index)]);
    EXPECT_GE(move.support, 3);
    EXPECT_GT(move.degrees, 0);
  }
  ASSERT_EQ(f.model.record.adaptations.size(), 1u);
  EXPECT_EQ(f.model.record.adaptations[0].classes, told.moves.size());
}

TEST(Field, AThousandRoundsEndWhereTwentyDo) {
  Field f;
  Model longer = f.copy();
  adapt(f.model, f.pile.view(), {}, f.pool);
  const Adaptation told = adapt(longer, f.pile.view(), {.classes = {}, .rounds = 1000}, f.pool);
  EXPECT_LT(told.rounds, 1000);
  expect_near(places_of(f.model), places_of(longer), 1e-3);
}

TEST(Field, FromTwoBatchesOnTheModelAdaptsToOneAfterTheOther) {
  Field f;
  Model slow = f.copy(), whole = f.copy();
  AdaptOptions options;
  options.batch = f.pile.rows() / 2 - 1;
  const std::size_t d = f.pile.cols(), rest = f.pile.rows() - options.batch;  // the last two go with the second batch
  const Adaptation told = adapt(f.model, f.pile.view(), options, f.pool);
  const Adaptation first = adapt(slow, {f.pile.data(), options.batch, d}, {}, f.pool),
                   second = adapt(slow, {f.pile.row(options.batch).data(), rest, d}, {}, f.pool);
  EXPECT_EQ(vectors_of(f.model), vectors_of(slow));
  EXPECT_EQ(f.model.record.adaptations.size(), 2u);
  EXPECT_EQ(told.samples, f.pile.rows());
  EXPECT_EQ(told.convincing, first.convincing + second.convincing);
  options.batch = f.pile.rows() / 2 + 1;
  adapt(whole, f.pile.view(), options, f.pool);
  EXPECT_EQ(whole.record.adaptations.size(), 1u);
}

TEST(Field, ABadSampleInALaterBatchLeavesTheModelAsItWas) {
  Field f;
  const auto before = vectors_of(f.model);
  Matrix<float> samples = Matrix<float>::copy_of(f.pile.view());
  samples(30, 2) = std::nanf("");
  EXPECT_EQ(test::error_of([&] { adapt(f.model, samples.view(), {.classes = {}, .batch = 20}, f.pool); }).parts().field,
            "sample 30, feature 2");
  EXPECT_EQ(vectors_of(f.model), before);
  EXPECT_FALSE(is_adapted(f.model));
}

TEST(Field, TheSamePileAgainAndAgainConverges) {
  Field f;
  f.model.field.strength = 5;
  Rows last;
  for (int call = 0; call < 100; ++call) {
    last = places_of(f.model);
    adapt(f.model, f.pile.view(), {}, f.pool);
  }
  expect_near(last, places_of(f.model), 1e-4);
  for (const float n : f.model.classes.adapted.samples) EXPECT_LE(n, 10 * 5 * 1.0001f);
  EXPECT_EQ(f.model.record.adaptations.size(), 100u);
}

TEST(Field, UndoRestoresClassVectorsToTheBit) {
  Field f;
  teach(f.model, f.unseen_name(0), f.samples_of(f.data.unseen_classes()[0], 0, 4).view(), f.pool);
  const auto before = vectors_of(f.model);
  adapt(f.model, f.pile.view(), {}, f.pool);
  EXPECT_TRUE(is_adapted(f.model));
  EXPECT_NE(vectors_of(f.model), before);
  undo_adaptation(f.model);
  EXPECT_FALSE(is_adapted(f.model));
  EXPECT_TRUE(is_taught(f.model));
  EXPECT_EQ(vectors_of(f.model), before);
  EXPECT_TRUE(f.model.record.adaptations.empty());
}

TEST(Field, GammaShiftsByTheShareOfUnseenClassesThatMoved) {
  Field f;
  f.model.gamma = 0.125;
  f.model.field.gamma_shift = -0.0625;
  const auto unseen = f.data.unseen_classes();
  const Matrix<float> of_one = f.samples_of(unseen[0], 0, 40);
  ASSERT_EQ(adapt(f.model, of_one.view(), {.classes = {f.unseen_name(0)}}, f.pool).moves.size(), 1u);
  EXPECT_DOUBLE_EQ(f.model.gamma, 0.125 - 0.0625 / static_cast<double>(unseen.size()));
  const auto moved = adapt(f.model, f.pile.view(), {}, f.pool).moves;
  ASSERT_GT(moved.size(), 1u);
  EXPECT_LT(f.model.gamma, 0.125 - 0.0625 / static_cast<double>(unseen.size())) << "from the gamma before, not again";
  EXPECT_GE(f.model.gamma, 0.125 - 0.0625);
  Model loaded = f.copy();
  EXPECT_EQ(loaded.field.gamma_shift, -0.0625);
  EXPECT_EQ(loaded.gamma, f.model.gamma);
  undo_adaptation(loaded);
  EXPECT_EQ(loaded.gamma, 0.125);
}

TEST(Field, TheNumberOfThreadsDoesNotMatter) {
  Field f;
  std::vector<std::vector<float>> vectors;
  for (const unsigned threads : {1u, 2u, 5u}) {
    Model model = f.copy();
    ThreadPool pool(threads);
    adapt(model, f.pile.view(), {}, pool);
    adapt(model, f.pile.view(), {}, pool);
    vectors.push_back(vectors_of(model));
  }
  EXPECT_EQ(vectors[0], vectors[1]);
  EXPECT_EQ(vectors[0], vectors[2]);
}

TEST(Field, ClassesWithoutSupportStayToTheBit) {
  Field f;
  const auto unseen = f.data.unseen_classes();
  adapt(f.model, f.pile.view(), {}, f.pool);  // they remember something
  const Matrix<float> before = f.model.class_vectors();
  const Adaptation told =
      adapt(f.model, f.samples_of(unseen[1], 0, 20).view(), {.classes = {f.unseen_name(1)}}, f.pool);
  ASSERT_EQ(told.moves.size(), 1u);
  EXPECT_EQ(told.moves[0].class_index, unseen[1]);
  const Matrix<float> after = f.model.class_vectors();
  for (std::size_t c = 0; c < before.rows(); ++c)
    EXPECT_EQ(std::ranges::equal(before.row(c), after.row(c)), static_cast<std::int32_t>(c) != unseen[1]) << c;
  // Two samples convince nobody.
  const auto places = vectors_of(f.model);
  EXPECT_TRUE(adapt(f.model, f.samples_of(unseen[0], 0, 2).view(), {}, f.pool).moves.empty());
  EXPECT_EQ(vectors_of(f.model), places);
  EXPECT_EQ(f.model.record.adaptations.size(), 2u);
}

TEST(Field, SeenClassesMoveWhenTheyAreNamed) {
  Field f;
  const auto seen = f.data.seen_classes();
  const Adaptation told = adapt(f.model, f.data.features.view(),
                                {.classes = {f.data.class_names[static_cast<std::size_t>(seen[0])]}}, f.pool);
  ASSERT_EQ(told.moves.size(), 1u);
  EXPECT_EQ(told.moves[0].class_index, seen[0]);
}

TEST(Field, ExamplesMoveAClassAsItsPosteriorMeanDoes) {
  Field f;
  const auto label = f.data.unseen_classes()[0];
  const auto c = static_cast<std::size_t>(label);
  for (const std::size_t count : {std::size_t{1}, std::size_t{25}}) {
    Model model = f.copy();
    const Matrix<float> examples = f.samples_of(label, 0, count);
    Rows wanted = places_of(model);
    for (double& v : wanted[c]) v *= model.field.example_prior;
    for (const auto& one : unit_rows_of(model.predict(examples.view(), f.pool), model.semantic_centre))
      for (std::size_t j = 0; j < one.size(); ++j) wanted[c][j] += one[j];
    to_unit(wanted[c]);
    // One after the other is the same as all at once.
    for (std::size_t r = 0; r < count; ++r)
      teach(model, f.data.class_names[c], {examples.row(r).data(), 1, examples.cols()}, f.pool);
    expect_near(wanted, places_of(model), 1e-5);
    EXPECT_EQ(model.classes.taught.samples[c], static_cast<float>(count));
  }
}

TEST(Field, ExamplesRaiseAccuracy) {
  Field f;
  const double before = f.evaluated(f.model).zsl.top1_per_class;
  for (const auto label : f.data.unseen_classes())
    teach(f.model, f.data.class_names[static_cast<std::size_t>(label)], f.samples_of(label, 0, 10).view(), f.pool);
  EXPECT_GT(f.evaluated(f.model).zsl.top1_per_class, before + 3);
}

TEST(Field, AClassMayBeKnownByItsExamplesAlone) {
  Field f;
  const auto label = f.data.unseen_classes()[0];
  const std::string name = f.data.class_names[static_cast<std::size_t>(label)];
  f.model.remove_class(name);
  add_class_by_examples(f.model, name, f.samples_of(label, 0, 20).view(), f.pool);
  ASSERT_EQ(f.model.classes.names.back(), name);
  EXPECT_EQ(f.model.classes.described.back(), 0);
  const Matrix<float> others = f.samples_of(label, 20, 30), scores = f.model.scores(others.view(), f.pool);
  std::size_t right = 0;
  for (std::size_t r = 0; r < scores.rows(); ++r) {
    std::size_t best = scores.cols() - 1;
    for (std::size_t c = 0; c < scores.cols(); ++c)
      if (scores(r, c) - (f.model.classes.seen[c] ? f.model.gamma : 0) > scores(r, best)) best = c;
    right += best == scores.cols() - 1 ? 1 : 0;
  }
  EXPECT_GT(right, scores.rows() / 2);
  EXPECT_THROW(add_class_by_examples(f.model, name, others.view(), f.pool), Error);
  EXPECT_THROW(add_class_by_examples(f.model, "none", Matrix<float>(0, others.cols()).view(), f.pool), Error);
  EXPECT_THROW(add_class_by_examples(f.model, "narrow", Matrix<float>(1, 3, 1.0f).view(), f.pool), Error);
  EXPECT_EQ(f.model.classes.names.back(), name);
}

TEST(Field, SumsStayWithTheirClassesWhenOthersComeAndGo) {
  Field f;
  const auto unseen = f.data.unseen_classes();
  const auto c = static_cast<std::size_t>(unseen[1]);
  teach(f.model, f.data.class_names[c], f.samples_of(unseen[1], 0, 5).view(), f.pool);
  adapt(f.model, f.pile.view(), {}, f.pool);
  add_class_by_examples(f.model, "by examples", f.samples_of(unseen[1], 0, 5).view(), f.pool);
  f.model.add_class("described", f.data.semantics.values.row(0));
  const Matrix<float> before = f.model.class_vectors();
  std::map<std::string, std::vector<float>> of_name;
  for (std::size_t i = 0; i < before.rows(); ++i)
    of_name[f.model.classes.names[i]] = {before.row(i).begin(), before.row(i).end()};
  f.model.remove_classes(
      std::vector<std::string>{f.data.class_names[0], f.data.class_names[static_cast<std::size_t>(unseen[0])]});
  const Matrix<float> after = f.model.class_vectors();
  ASSERT_EQ(after.rows(), before.rows() - 2);
  for (std::size_t i = 0; i < after.rows(); ++i)
    EXPECT_TRUE(std::ranges::equal(of_name[f.model.classes.names[i]], after.row(i))) << f.model.classes.names[i];
}

TEST(Field, ExplanationsStillAddUp) {
  Field f;
  const auto label = f.data.unseen_classes()[0], other = f.data.unseen_classes()[1];
  teach(f.model, f.data.class_names[static_cast<std::size_t>(other)], f.samples_of(other, 0, 3).view(), f.pool);
  for (const auto c : f.data.unseen_classes())
    if (c != other) f.model.remove_class(f.data.class_names[static_cast<std::size_t>(c)]);
  add_class_by_examples(f.model, "by examples", f.samples_of(label, 3, 5).view(), f.pool);
  add_class_by_examples(f.model, "by others", f.samples_of(label, 8, 5).view(), f.pool);
  adapt(f.model, f.pile.view(), {}, f.pool);
  f.model.gamma = 10;  // the three unseen classes are the first and the second everywhere
  bool told = false;
  for (std::size_t r = 0; r < f.pile.rows(); r += 7) {
    const Explanation why = explain(f.model, f.pile.row(r), f.pool);
    double sum = why.calibration + why.examples;
    for (const auto& a : why.attributes) sum += a.amount;
    ASSERT_NEAR(sum, why.winner_score - why.runner_up_score, 1e-4) << "sample " << r;
    told |= f.model.classes.described[static_cast<std::size_t>(why.winner)] == 0;
  }
  EXPECT_TRUE(told);  // a class without a description is among the winners
}

TEST(Field, AModelFileKeepsWhatWasLearned) {
  Field f;
  const auto label = f.data.unseen_classes()[0];
  f.model.field = {7, 30, 35, 0.8};
  add_class_by_examples(f.model, "by examples", f.samples_of(label, 0, 5).view(), f.pool);
  adapt(f.model, f.pile.view(), {}, f.pool);
  Model read = f.copy();
  EXPECT_EQ(read.field, f.model.field);
  EXPECT_EQ(read.record, f.model.record);
  EXPECT_EQ(read.classes.described, f.model.classes.described);
  EXPECT_EQ(vectors_of(read), vectors_of(f.model));
  // What was read belongs to the file: learning goes on beside it.
  for (Model* model : {&read, &f.model}) {
    teach(*model, "by examples", f.samples_of(label, 5, 5).view(), f.pool);
    adapt(*model, f.pile.view(), {}, f.pool);
  }
  EXPECT_EQ(vectors_of(read), vectors_of(f.model));
  undo_adaptation(read);
  EXPECT_NE(vectors_of(read), vectors_of(f.model));
}

TEST(Field, WhatDoesNotFitIsRefusedAndChangesNothing) {
  Field f;
  const auto before = vectors_of(f.model);
  Matrix<float> broken = Matrix<float>::copy_of(f.pile.view());
  broken(3, 2) = std::nanf("");
  for (const AdaptOptions& wrong : {AdaptOptions{.classes = {"no such class"}}, {.classes = {}, .rounds = 0}})
    EXPECT_THROW(adapt(f.model, f.pile.view(), wrong, f.pool), Error);
  EXPECT_THROW(adapt(f.model, broken.view(), {}, f.pool), Error);
  EXPECT_THROW(adapt(f.model, Matrix<float>(0, f.pile.cols()).view(), {}, f.pool), Error);
  EXPECT_THROW(adapt(f.model, Matrix<float>(9, 2, 1.0f).view(), {}, f.pool), Error);
  EXPECT_THROW(teach(f.model, "no such class", f.pile.view(), f.pool), Error);
  EXPECT_THROW(teach(f.model, f.data.class_names[0], broken.view(), f.pool), Error);
  EXPECT_EQ(vectors_of(f.model), before);
  EXPECT_FALSE(is_adapted(f.model));
  EXPECT_FALSE(is_taught(f.model));
  test::TrainedModel semantic("ridge");
  ASSERT_EQ(semantic.model.targets, Targets::semantics);
  const auto x = semantic.data.features.view();
  EXPECT_THROW(adapt(semantic.model, x, {}, semantic.pool), Error);
  EXPECT_THROW(teach(semantic.model, semantic.data.class_names[0], x, semantic.pool), Error);
  EXPECT_THROW(add_class_by_examples(semantic.model, "new", x, semantic.pool), Error);
}

}  // namespace
}  // namespace parsnets
