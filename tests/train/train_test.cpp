#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {
namespace {

using Train = test::SmallTraining;

TEST_F(Train, EveryMethodRecognisesUnseenClassesFarAboveChance) {
  const double chance = 100.0 / static_cast<double>(data.unseen_classes().size());
  for (const auto& method : method_names()) {
    const auto options = test::small_options(method, method == "parsnets" ? "" : "lambda=0.1");
    const Evaluation report = evaluate(train(data, options, pool), data, pool);
    EXPECT_GT(report.zsl.top1_per_class, chance + 25) << method;
    EXPECT_GT(report.gzsl.h, 15) << method;
  }
}

TEST_F(Train, ModelFilesAreByteIdenticalForOneAndTwoThreads) {
  ThreadPool one(1), two(2);
  for (const auto& method : method_names()) {
    save_model(train(data, test::small_options(method), one), dir / "one");
    save_model(train(data, test::small_options(method), two), dir / "two");
    EXPECT_TRUE(test::same_file_bytes(dir / "one", dir / "two")) << method;
  }
}

TEST_F(Train, TestSamplesHaveNoInfluenceOnTheModel) {
  const auto options = test::small_options("ridge", "search=grid");
  save_model(train(data, options, pool), dir / "before");
  for (const auto* list : {&data.split.test_seen, &data.split.test_unseen})
    for (const auto s : *list)
      for (float& v : data.features.row(static_cast<std::size_t>(s))) v = 3 - v;
  save_model(train(data, options, pool), dir / "after");
  EXPECT_TRUE(test::same_file_bytes(dir / "before", dir / "after"));
}

TEST_F(Train, SelectionPicksTheBestCandidateOfItsTraceAndLeavesOptionsThatAreSetAlone) {
  const auto options = test::small_options("ridge", "search=grid;feature-scaling=l2;semantic-scaling=standardize");
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

TEST_F(Train, AGridOfOnesOwnIsSearchedAndItsMistakesAreNamed) {
  TrainOptions options = test::small_options("ridge", "search=grid");
  options.search.grid = "lambda=1,2;semantic-scaling=l2,standardize";
  EXPECT_EQ(search_grid(options, data).size(), 2u);
  for (const char* bad : {"lambda", "nope=1", "lambda=x", "gates=soft"}) {
    options.search.grid = bad;
    EXPECT_THROW(search_grid(options, data), Error) << bad;
  }
}

TEST_F(Train, ImpossibleOptionsAreReportedTogether) {
  TrainOptions options = test::small_options("scln", "active=9;encoding=25");
  options.search.grid = "c=1";  // without a search
  for (const char* part : {"'active': ", "'encoding': ", "'grid' "})
    test::expect_error([&] { train(data, options, pool); }, part, ErrorCode::usage);
}

TEST_F(Train, GammaComesFromValidationAndImprovesTheHarmonicMeanWhichNeedsAllClasses) {
  Model calibrated = train(data, test::small_options("ridge"), pool),
        plain = train(data, test::small_options("ridge", "calibrate=false"), pool);
  EXPECT_EQ(plain.gamma, 0);
  EXPECT_NE(calibrated.gamma, 0);
  EXPECT_GT(evaluate(calibrated, data, pool).gzsl.h, evaluate(plain, data, pool).gzsl.h);
  EXPECT_EQ(calibrated.record.validation.gamma_from, "validation classes");
  EXPECT_EQ(plain.record.validation.gamma_from, "none");
  calibrated.remove_class(data.class_names[static_cast<std::size_t>(data.unseen_classes()[0])]);
  EXPECT_THROW(evaluate(calibrated, data, pool), Error) << "a class that the model does not have";
}

TEST_F(Train, AnInterruptedRunGoesOnToTheSameBytes) {
  struct StopAfter : ProgressObserver {
    int left;
    explicit StopAfter(int n) : left(n) {}
    bool on_progress(const ProgressEvent& e) override { return e.stage != "svr" || --left > 0; }
  };
  auto options = test::small_options("scln", "tolerance=1e-6;c=1");
  save_model(train(data, options, pool), dir / "whole");
  options.run.checkpoint = dir / "state";
  int interruptions = 0;
  for (options.run.resume = false;; options.run.resume = true) {
    StopAfter stop(40 << interruptions);  // far enough to finish a fold in the end
    try {
      save_model(train(data, options, pool, &stop), dir / "resumed");
      break;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::cancelled);
      EXPECT_FALSE(std::filesystem::exists(dir / "resumed"));
      ASSERT_LT(++interruptions, 20);
    }
  }
  EXPECT_GT(interruptions, 0);
  EXPECT_TRUE(test::same_file_bytes(dir / "whole", dir / "resumed"));
}

TEST_F(Train, RefinementLowersItsObjectiveAtEveryStep) {
  for (const std::string networks : {"0", "8"}) {
    const Model model = train(data, test::small_options("parsnets", "refine-steps=6;networks=" + networks), pool);
    const auto& steps = model.record.refinement;
    ASSERT_EQ(steps.size(), 7u);
    EXPECT_LT(steps.back().objective, steps.front().objective);
    EXPECT_EQ(model.prototypes.support.rows(), data.seen_classes().size());
    EXPECT_GT(evaluate(model, data, pool).zsl.top1_per_class, 50);
  }
}

TEST_F(Train, ThePapersMethodJoinsSvrAndGeometryAndNeverRises) {
  const Model model = train(data, test::small_options("paper", "mmg=1;tolerance=1e-4"), pool);
  const auto& steps = model.record.joint;
  ASSERT_GE(steps.size(), 2u) << "at least one step was taken";
  for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i].objective, steps[i - 1].objective);
  EXPECT_LT(steps.back().mmg, steps[0].mmg);
  EXPECT_TRUE(model.record.svr->converged);
  EXPECT_EQ(nlohmann::json::parse(model.options)["gates"], "energy");
}

TEST_F(Train, ARidgeFitOfThePapersNetworksHasASharedMapAndNeverRises) {
  for (const std::string relu : {"false", "true"}) {
    const Model model =
        train(data, test::small_options("paper", "fit=ridge;gates=anchor;joint-steps=4;relu=" + relu), pool);
    EXPECT_EQ(model.shared.rows(), data.features.cols());
    EXPECT_EQ(model.relu, relu == "true");
    const auto& steps = model.record.joint;
    ASSERT_GE(steps.size(), 2u);
    for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LE(steps[i].objective, steps[i - 1].objective);
  }
  EXPECT_THROW(train(data, test::small_options("paper", "relu=true"), pool), Error) << "ReLU has no exact dual";
}

TEST_F(Train, APathOfRefinementStepsIsWhatSeparateRunsGive) {
  auto both = test::small_options("parsnets", "search=grid");
  both.search.grid = "refine-steps=0,2,5;prototype-width=0,1.4";
  const TrainRecord record = train(data, both, pool).record;
  ASSERT_EQ(record.selection.size(), 6u);
  for (const auto& step : record.selection) {
    auto single = both;
    single.search.grid = step.choice;
    std::replace(single.search.grid.begin(), single.search.grid.end(), ' ', ';');
    const ValidationRecord alone = train(data, single, pool).record.validation;
    EXPECT_EQ(alone.zsl, step.zsl) << step.choice;
    EXPECT_EQ(alone.h, step.h) << step.choice;
  }
}

TEST_F(Train, ThePapersSparsityFollowsTheDataSetNotTheNameOfItsFolder) {
  data.features = Matrix<float>(data.samples(), 400);  // as many as the preset encodes
  const auto open = [&](const char* folder, const char* known_as) {
    data.name = folder;
    data.known_as = known_as;
    return std::get<PaperOptions>(resolve_options(test::options_with("paper"), data).method).active;
  };
  EXPECT_EQ(open("sunglasses", ""), 40);
  EXPECT_EQ(open("downloads", "SUN"), 80);
  EXPECT_EQ(open("downloads", "AWA2"), 30);
}

TEST_F(Train, DefaultSizesOfSclnSuitSmallData) {
  const Dataset tiny = synthesize({.classes = 6, .attributes = 8, .samples = 60, .dimensions = 5, .hidden = 8});
  const Model model = train(tiny, test::options_with("scln", "calibrate=false"), pool);
  EXPECT_LE(model.gates.open, model.gates.networks);
  EXPECT_EQ(model.encoder.weights.rows() % model.gates.networks, 0u);
}

TEST_F(Train, ThePapersMethodFitsNarrowFeaturesAndSaysSo) {
  for (const std::string method : {"paper", "scln", "mmg"}) {
    const Model model = train(data, test::options_with(method, "calibrate=false;max-passes=3"), pool);
    if (model.gates.kind == GateKind::energy) {
      EXPECT_EQ(model.encoder.weights.rows() % model.gates.networks, 0u);
    }
    EXPECT_LE(model.encoder.weights.rows(), 48u);
    EXPECT_LE(model.gates.open, model.gates.networks);
    const auto& warnings = model.record.warnings;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("method paper: the features have 48 dimensions"), std::string::npos);
  }
}

TEST_F(Train, StoredOptionsDescribeTheNetworksThatAreThere) {
  const auto stored = [&](const TrainOptions& options) {
    const Model model = train(data, options, pool);
    return std::pair(nlohmann::json::parse(model.options), model.gates.networks);
  };
  EXPECT_EQ(stored(test::options_with("parsnets", "calibrate=false")).first["networks"], 0) << "few classes";
  for (const std::string method : {"scln", "parsnets"}) {
    const auto [options, networks] = stored(test::small_options(method, "calibrate=false"));
    EXPECT_EQ(options["networks"], 8);
    EXPECT_EQ(networks, 8u);
    EXPECT_EQ(options["active"], 3);
  }
  EXPECT_FALSE(stored(test::small_options("ridge")).first.contains("networks"));
}

TEST_F(Train, ARecordWarnsOfClassesThatCannotBeToldApartAndOfASingleValidationClass) {
  const auto warnings = [&] { return train(data, test::small_options("ridge"), pool).record.warnings; };
  const auto copy_row = [&](std::size_t from, std::size_t to) {
    std::ranges::copy(data.semantics.values.row(from), data.semantics.values.row(to).begin());
  };
  EXPECT_TRUE(warnings().empty());

  copy_row(2, 7);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("such as '" + data.class_names[2] + "' and '" + data.class_names[7] + "'"),
            std::string::npos);
  EXPECT_EQ(evaluate(train(data, test::small_options("ridge"), pool), data, pool).warnings, warnings());

  for (std::size_t c = 1; c < data.classes(); ++c) copy_row(0, c);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_TRUE(warnings()[0].starts_with("all classes have the same attributes"));

  data = test::small_training_set();
  test::hold_out(data, 1);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("validation holds out one class: its ZSL is 100 by definition"), std::string::npos);
}

TEST_F(Train, OneMoreFoldIsSingular) {
  for (const auto& [folds, more] : {std::pair("folds=2", "; 1 more fold"), std::pair("folds=3", "; 2 more folds")}) {
    const auto from = train(data, test::small_options("ridge", folds), pool).record.validation.classes_from;
    EXPECT_TRUE(from.ends_with(std::string(more) + " drawn from the seen classes")) << from;
  }
}

TEST_F(Train, DrawnFoldsSuitTheNumberOfClasses) {
  const auto folds = [&](const TrainOptions& options) {
    return static_cast<int>(train(data, options, pool).record.validation.folds);
  };
  EXPECT_EQ(folds(test::small_options("ridge")), 1) << "the split names its validation classes";
  data.split.validation_drawn = true;
  test::hold_out(data, 3);
  EXPECT_EQ(folds(test::small_options("ridge")), 8) << "24 classes held out in all";
  EXPECT_EQ(folds(test::small_options("ridge", "search=grid")), 3);
  EXPECT_EQ(folds(test::small_options("scln")), 1);
  EXPECT_EQ(folds(test::small_options("ridge", "folds=5")), 5);
}

TEST_F(Train, CheckpointsOfAllFoldsAreRemoved) {
  const auto checkpoint = dir / "c";
  for (const char* ending : {".fold0", ".fold1", ".fold2", ".final"})
    write_text_file(checkpoint.string() + ending, "x");
  write_text_file(checkpoint, "of the user");
  remove_checkpoints(checkpoint);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  remove_checkpoints(checkpoint);
  remove_checkpoints({});
}

}  // namespace
}  // namespace parsnets
