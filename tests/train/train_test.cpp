#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

const std::vector<Method> kMethods{Method::parsnets, Method::mmg,           Method::scln,
                                   Method::ridge,    Method::reverse_ridge, Method::eszsl,
                                   Method::sae,      Method::sae_reverse,   Method::dap};

}  // namespace

TEST(Train, EveryMethodRecognisesUnseenClassesFarAboveChance) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  const double chance = 100.0 / static_cast<double>(data.unseen_classes().size());
  for (const auto method : kMethods) {
    auto options = test::small_options(method);
    options.fit.lambda = 0.1;
    options.fit.c = 0.1;
    const Evaluation report = evaluate(train(data, options, pool), data, pool);
    EXPECT_GT(report.zsl.top1_per_class, chance + 25) << "method " << static_cast<int>(method);
    EXPECT_GT(report.gzsl.h, 15) << "method " << static_cast<int>(method);
  }
}

TEST(Train, ModelFilesAreByteIdenticalForOneAndTwoThreads) {
  const Dataset data = test::small_training_set();
  test::TempDir dir;
  ThreadPool one(1), two(2);
  for (const auto method : kMethods) {
    save_model(train(data, test::small_options(method), one), dir / "one");
    save_model(train(data, test::small_options(method), two), dir / "two");
    EXPECT_TRUE(test::same_file_bytes(dir / "one", dir / "two")) << "method " << static_cast<int>(method);
  }
}

TEST(Train, TestSamplesHaveNoInfluenceOnTheModel) {
  Dataset data = test::small_training_set();
  test::TempDir dir;
  ThreadPool pool(1);
  auto options = test::small_options(Method::ridge);
  options.search.select = true;
  save_model(train(data, options, pool), dir / "before");
  for (const auto* list : {&data.split.test_seen, &data.split.test_unseen})
    for (const auto s : *list)
      for (float& v : data.features.row(static_cast<std::size_t>(s))) v = 3 - v;
  save_model(train(data, options, pool), dir / "after");
  EXPECT_TRUE(test::same_file_bytes(dir / "before", dir / "after"));
}

TEST(Train, SelectionPicksTheBestCandidateOfItsTraceAndLeavesOptionsThatAreSetAlone) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  auto options = test::small_options(Method::ridge);
  options.search.select = true;
  options.preprocessing.feature_scaling = FeatureScaling::sqrt_l2;
  options.preprocessing.semantic_scaling = SemanticScaling::l2;
  const Model model = train(data, options, pool);
  const TrainRecord& record = model.record;
  const auto chosen = nlohmann::json::parse(model.options);
  ASSERT_EQ(record.selection.size(), 8u) << "only lambda is searched";
  double best = -1;
  std::string winner;
  for (const auto& step : record.selection)
    if (step.merit() > best) {
      best = step.merit();
      winner = step.choice;
    }
  EXPECT_EQ((record.validation.zsl + record.validation.h) / 2, best);
  EXPECT_EQ(record.chosen, winner);
  EXPECT_EQ("lambda=" + chosen["lambda"].dump(), winner.find('.') == std::string::npos ? winner + ".0" : winner);
}

TEST(Train, AGridOfOnesOwnIsSearchedAndItsMistakesAreNamed) {
  TrainOptions options = test::small_options(Method::ridge);
  options.search.grid = "lambda=1,2;semantic-scaling=l2,standardize";
  options.search.select = true;
  const Dataset data = test::small_training_set();
  EXPECT_EQ(search_grid(options, data).size(), 2u);
  for (const char* bad : {"lambda", "nope=1", "lambda=x", "gates=soft"}) {
    options.search.grid = bad;
    EXPECT_THROW(search_grid(options, data), Error) << bad;
  }
}

TEST(Train, ImpossibleOptionsAreReportedTogether) {
  TrainOptions options = test::small_options(Method::scln);
  options.gates.open = 9;
  options.encoder.dimensions = 25;
  options.search.grid = "c=1";  // without select
  ThreadPool pool(1);
  try {
    train(test::small_training_set(), options, pool);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    for (const char* part : {"'open': ", "'encoding': ", "'grid' "})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Train, GammaComesFromValidationAndImprovesTheHarmonicMean) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  auto options = test::small_options(Method::ridge);
  const Model calibrated = train(data, options, pool);
  options.calibration.enabled = false;
  const Model plain = train(data, options, pool);
  EXPECT_EQ(plain.gamma, 0);
  EXPECT_NE(calibrated.gamma, 0);
  EXPECT_GT(evaluate(calibrated, data, pool).gzsl.h, evaluate(plain, data, pool).gzsl.h);
  EXPECT_EQ(calibrated.record.validation.gamma_from, "validation classes");
  EXPECT_EQ(plain.record.validation.gamma_from, "none");
}

TEST(Train, AnInterruptedRunGoesOnToTheSameBytes) {
  struct StopAfter : ProgressObserver {
    int left;
    explicit StopAfter(int n) : left(n) {}
    bool on_progress(const ProgressEvent& e) override { return e.stage != "svr" || --left > 0; }
  };
  const Dataset data = test::small_training_set();
  test::TempDir dir;
  ThreadPool pool(1);
  auto options = test::small_options(Method::scln);
  options.fit.tolerance = 1e-6;
  options.fit.c = 1;
  save_model(train(data, options, pool), dir / "whole");
  options.run.checkpoint = dir / "state";
  int interruptions = 0;
  for (options.run.resume = false;; options.run.resume = true) {
    StopAfter stop(40 + 60 * interruptions);  // far enough to reach the next checkpoint in the end
    try {
      save_model(train(data, options, pool, &stop), dir / "resumed");
      break;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::cancelled);
      EXPECT_FALSE(std::filesystem::exists(dir / "resumed"));
      ASSERT_LT(++interruptions, 100);
    }
  }
  EXPECT_GT(interruptions, 0);
  EXPECT_TRUE(test::same_file_bytes(dir / "whole", dir / "resumed"));
}

TEST(Train, EveryForwardMethodCanBeRefinedAndItsObjectiveFalls) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  for (const auto method : {Method::parsnets, Method::mmg, Method::scln, Method::ridge, Method::eszsl, Method::sae}) {
    auto options = test::small_options(method);
    options.refinement.steps = 6;
    options.class_space.prototype_width = 1.4;
    options.preprocessing.semantic_whitening = 0.25;
    const Model model = train(data, options, pool);
    const auto& steps = model.record.refinement;
    ASSERT_EQ(steps.size(), 7u) << "method " << static_cast<int>(method);
    for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LT(steps[i].objective, steps[i - 1].objective);
    EXPECT_EQ(model.prototypes.support.rows(), data.seen_classes().size());
    EXPECT_GT(evaluate(model, data, pool).zsl.top1_per_class, 50) << "method " << static_cast<int>(method);
  }
  for (const auto method : {Method::reverse_ridge, Method::sae_reverse, Method::dap}) {
    auto options = test::small_options(method);
    options.refinement.steps = 6;
    EXPECT_THROW(train(data, options, pool), Error);
  }
}

TEST(Train, ThePaperPresetJoinsSvrAndGeometryAndNeverRises) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  auto options = test::small_options(Method::parsnets);
  options.preset = Preset::paper;
  options.geometry.weight = 1;
  options.fit.tolerance = 1e-4;
  const Model model = train(data, options, pool);
  const auto& steps = model.record.joint;
  ASSERT_GE(steps.size(), 2u) << "at least one step was taken";
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i].objective, steps[i - 1].objective);
  EXPECT_LT(steps.back().mmg, steps[0].mmg);
  EXPECT_TRUE(model.record.svr->converged);
  EXPECT_EQ(nlohmann::json::parse(model.options)["gates"], "energy");
}

TEST(Train, TheSharedNetworkHelpsGatedOnesOnWhatTheyShare) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  auto options = test::small_options(Method::scln);
  options.gates.kind = GateKind::anchor;
  options.gates.open = 1;  // two samples that share no network share nothing, unless one network is always open
  const double alone = evaluate(train(data, options, pool), data, pool).zsl.top1_per_class;
  options.fit.shared = true;
  const Model model = train(data, options, pool);
  EXPECT_EQ(model.shared.rows(), data.features.cols());
  EXPECT_GT(evaluate(model, data, pool).zsl.top1_per_class, alone);
}

TEST(Train, APathOfRefinementStepsIsWhatSeparateRunsGive) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  auto options = test::small_options(Method::ridge);
  options.search.select = true;
  options.search.grid = "refine-steps=0,2,5;prototype-width=0,1.4";
  const TrainRecord record = train(data, options, pool).record;
  ASSERT_EQ(record.selection.size(), 6u);
  for (const auto& step : record.selection) {
    auto single = options;
    single.search.grid = step.choice;
    std::replace(single.search.grid.begin(), single.search.grid.end(), ' ', ';');
    const ValidationRecord alone = train(data, single, pool).record.validation;
    EXPECT_EQ(alone.zsl, step.zsl) << step.choice;
    EXPECT_EQ(alone.h, step.h) << step.choice;
  }
}

TEST(Train, EvaluatingClassesTheModelDoesNotHaveIsRefused) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(1);
  Model model = train(data, test::small_options(Method::ridge), pool);
  model.remove_class(data.class_names[static_cast<std::size_t>(data.unseen_classes()[0])]);
  EXPECT_THROW(evaluate(model, data, pool), Error);
}

TEST(Train, ThePapersSparsityFollowsTheDataSetNotTheNameOfItsFolder) {
  Dataset data = test::small_training_set();
  data.features = Matrix<float>(data.samples(), 400);  // as many as the preset encodes
  const auto open = [&](const char* folder, const char* known_as) {
    data.name = folder;
    data.known_as = known_as;
    TrainOptions options;
    options.preset = Preset::paper;
    return *resolve_options(options, data).gates.open;
  };
  EXPECT_EQ(open("sunglasses", ""), 40);
  EXPECT_EQ(open("downloads", "SUN"), 80);
  EXPECT_EQ(open("downloads", "AWA2"), 30);
}

TEST(Train, DefaultSizesOfSclnSuitSmallData) {
  ThreadPool pool(1);
  SynthOptions synth;
  synth.classes = 6;
  synth.samples = 60;
  synth.attributes = 8;
  synth.dimensions = 5;
  synth.hidden = 8;
  TrainOptions options;
  options.method = Method::scln;
  options.calibration.enabled = false;
  const Model model = train(synthesize(synth), options, pool);
  EXPECT_LE(model.gates.open, model.gates.networks);
  EXPECT_EQ(model.encoder.weights.rows() % model.gates.networks, 0u);
}

TEST(Train, ThePaperPresetFitsNarrowFeaturesAndSaysSo) {
  ThreadPool pool(1);
  for (const auto method : {Method::parsnets, Method::scln, Method::mmg}) {
    TrainOptions options;
    options.method = method;
    options.preset = Preset::paper;
    options.calibration.enabled = false;
    options.fit.max_passes = 3;
    const Model model = train(test::small_training_set(), options, pool);
    EXPECT_EQ(model.encoder.weights.rows() % model.gates.networks, 0u);
    EXPECT_LE(model.encoder.weights.rows(), 48u);
    EXPECT_LE(model.gates.open, model.gates.networks);
    const auto& warnings = model.record.warnings;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("preset paper: the features have 48 dimensions"), std::string::npos);
  }
}

TEST(Train, StoredOptionsDescribeTheNetworksThatAreThere) {
  ThreadPool pool(1);
  const auto stored = [&](TrainOptions options) {
    const Model model = train(test::small_training_set(), options, pool);
    const auto json = nlohmann::json::parse(model.options);
    EXPECT_EQ(json["networks"].get<std::size_t>(), model.gates.networks);
    EXPECT_EQ(json["open"].get<std::size_t>(), model.gates.open);
    return json;
  };
  TrainOptions options;
  options.gates.kind = GateKind::always;
  options.calibration.enabled = false;
  EXPECT_EQ(stored(options)["networks"], 1);
  options = {};
  options.preset = Preset::automatic;
  options.gates.kind = GateKind::always;
  options.search.time_budget = 1e-9;
  EXPECT_EQ(stored(options)["networks"], 1);
  EXPECT_EQ(stored(test::small_options(Method::ridge))["gates"], "always");
  EXPECT_EQ(stored(test::small_options(Method::scln))["networks"], 8);
}

TEST(Train, ARecordWarnsOfClassesThatCannotBeToldApartAndOfASingleValidationClass) {
  ThreadPool pool(1);
  const auto warnings = [&](const Dataset& data) {
    return train(data, test::small_options(Method::ridge), pool).record.warnings;
  };
  const auto copy_row = [](Dataset& data, std::size_t from, std::size_t to) {
    std::ranges::copy(data.semantics.values.row(from), data.semantics.values.row(to).begin());
  };
  EXPECT_TRUE(warnings(test::small_training_set()).empty());

  Dataset data = test::small_training_set();
  copy_row(data, 2, 7);
  ASSERT_EQ(warnings(data).size(), 1u);
  EXPECT_NE(warnings(data)[0].find("such as '" + data.class_names[2] + "' and '" + data.class_names[7] + "'"),
            std::string::npos);
  EXPECT_EQ(evaluate(train(data, test::small_options(Method::ridge), pool), data, pool).warnings, warnings(data));

  for (std::size_t c = 1; c < data.classes(); ++c) copy_row(data, 0, c);
  ASSERT_EQ(warnings(data).size(), 1u);
  EXPECT_TRUE(warnings(data)[0].starts_with("all classes have the same attributes"));

  data = test::small_training_set();
  data.split.val.clear();
  data.split.train.clear();
  for (const auto s : data.split.trainval)
    (data.labels[static_cast<std::size_t>(s)] == data.seen_classes()[0] ? data.split.val : data.split.train)
        .push_back(s);
  ASSERT_EQ(warnings(data).size(), 1u);
  EXPECT_NE(warnings(data)[0].find("validation holds out one class: its ZSL is 100 by definition"), std::string::npos);
}

TEST(Train, OneMoreFoldIsSingular) {
  ThreadPool pool(1);
  const auto classes_from = [&](int folds) {
    TrainOptions options = test::small_options(Method::ridge);
    options.search.folds = folds;
    return train(test::small_training_set(), options, pool).record.validation.classes_from;
  };
  EXPECT_TRUE(classes_from(2).ends_with("; 1 more fold drawn from the seen classes")) << classes_from(2);
  EXPECT_TRUE(classes_from(3).ends_with("; 2 more folds drawn from the seen classes")) << classes_from(3);
}

TEST(Train, DrawnFoldsSuitTheNumberOfClasses) {
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  const auto folds = [&](const TrainOptions& options) {
    return static_cast<int>(train(data, options, pool).record.validation.folds);
  };
  TrainOptions options = test::small_options(Method::ridge);
  EXPECT_EQ(folds(options), 1) << "the split names its validation classes";
  data.split.validation_drawn = true;
  data.split.val.clear();
  data.split.train.clear();
  for (const auto s : data.split.trainval) {  // three of the classes
    const auto label = data.labels[static_cast<std::size_t>(s)];
    const bool held = label <= data.seen_classes()[2];
    (held ? data.split.val : data.split.train).push_back(s);
  }
  EXPECT_EQ(folds(options), 8) << "24 classes held out in all";
  options.search.select = true;
  EXPECT_EQ(folds(options), 3);
  EXPECT_EQ(folds(test::small_options(Method::scln)), 1);
  options = test::small_options(Method::ridge);
  options.search.folds = 5;
  EXPECT_EQ(folds(options), 5);
}

TEST(Train, CheckpointsOfAllFoldsAreRemoved) {
  test::TempDir dir;
  const auto checkpoint = dir / "c";
  for (const char* ending : {".fold0", ".fold1", ".fold2", ".final"})
    write_text_file(checkpoint.string() + ending, "x");
  write_text_file(checkpoint, "of the user");
  remove_checkpoints(checkpoint);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  remove_checkpoints(checkpoint);
  remove_checkpoints({});
}

}  // namespace parsnets
