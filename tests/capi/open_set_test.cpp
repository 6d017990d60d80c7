#include "eval/open_set.hpp"

#include <algorithm>
#include <limits>

#include "capi/small_handles.hpp"
#include "parsnets/predictor.hpp"
#include "rejecting_model.hpp"

namespace parsnets::test {

namespace {

parsnets_open_set open_set_of(const parsnets_model* model) {
  auto found = sized<parsnets_open_set>();
  EXPECT_OK(parsnets_model_get_open_set(model, &found));
  return found;
}

/// A model without rejection; and the same with one, read by the C ABI and by C++.
struct ModelAndData : SmallModel {
  ModelHandle c;
  Model cpp = in_cpp(model.get());
  MatrixView<const float> x = small.data.features.view();

  ModelAndData() : SmallModel(Options{{"method", "parsnets"}}) {
    ThreadPool pool(1);
    reject_by_hand(cpp, x, pool);
    const TempDir dir;
    const std::string file = (dir / "m.safetensors").string();
    save_model(cpp, file);
    c = loaded(file);
    cpp = load_model(file);
  }
};

}  // namespace

TEST(CApiOpenSet, UnknownSamplesAreThoseOfCpp) {
  const ModelAndData pair;
  const std::vector<std::int32_t> candidates{1, 3, 4, 7, 8};
  for (const bool all : {true, false})
    for (const std::uint32_t threads : {1u, 3u}) {
      const Ranking ranking = all ? Ranking(pair.cpp) : Ranking(pair.cpp, candidates);
      ThreadPool pool(1);
      const auto expected = judge(pair.cpp, pair.x, ranking, pool);
      const std::size_t n = pair.x.rows();
      std::vector<std::int32_t> classes(n);
      std::vector<float> confidences(n), known(n);
      std::vector<std::uint8_t> unknown(n);
      ASSERT_OK(parsnets_predict_known(pair.c.get(), pair.x.data(), n, pair.x.cols(), all ? nullptr : candidates.data(),
                                       candidates.size(), threads, classes.data(), confidences.data(), known.data(),
                                       unknown.data()));
      std::size_t out_of_range = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(static_cast<std::size_t>(classes[i]), expected[i].best);
        ASSERT_EQ(confidences[i], expected[i].confidence);
        ASSERT_EQ(known[i], expected[i].score);
        ASSERT_EQ(unknown[i] != 0, expected[i].unknown);
        out_of_range += known[i] == std::numeric_limits<float>::lowest();
      }
      const auto rejected = static_cast<std::size_t>(std::ranges::count(unknown, 1));
      EXPECT_GT(out_of_range, 0u);
      EXPECT_GT(rejected, out_of_range);
      EXPECT_LT(rejected, n);
    }
}

TEST(CApiOpenSet, OutputsButTheClassesMayBeLeftOut) {
  const ModelAndData pair;
  const std::size_t n = 20;
  std::vector<std::int32_t> classes(n), top(n);
  const auto predict = [&](const std::int32_t* candidates, std::int32_t* out) {
    return parsnets_predict_known(pair.c.get(), pair.x.data(), n, pair.x.cols(), candidates, candidates ? 2 : 0, 1, out,
                                  nullptr, nullptr, nullptr);
  };
  ASSERT_OK(predict(nullptr, classes.data()));
  ASSERT_OK(
      parsnets_predict_top(pair.c.get(), pair.x.data(), n, pair.x.cols(), PARSNETS_ALL, 1, 1, top.data(), nullptr));
  EXPECT_EQ(classes, top);
  EXPECT_EQ(predict(nullptr, nullptr), PARSNETS_USAGE);
  const std::int32_t twice[] = {1, 1};
  EXPECT_EQ(predict(twice, classes.data()), PARSNETS_USAGE);
}

TEST(CApiOpenSet, AModelTellsWhetherItIsCalibrated) {
  const ModelAndData pair;
  parsnets_open_set found = open_set_of(pair.model.get());
  EXPECT_EQ(found.has_rejection, 0);
  EXPECT_EQ(found.has_sets, 0);
  EXPECT_EQ(found.false_accept, 0);
  found = open_set_of(clone_of(pair.c.get()).get());
  EXPECT_EQ(found.has_rejection, 1);
  EXPECT_EQ(found.has_sets, 0);
  EXPECT_EQ(found.false_accept, 0.05);
  EXPECT_EQ(found.samples, 0u) << "no record";
  std::int32_t best = 0;
  EXPECT_TRUE(fails(parsnets_predict_known(pair.model.get(), pair.x.data(), 1, pair.x.cols(), nullptr, 0, 1, &best,
                                           nullptr, nullptr, nullptr),
                    PARSNETS_USAGE, "calibrate"));
  EXPECT_TRUE(last_error_has("'false-accept'")) << parsnets_last_error();
}

TEST(CApiOpenSet, CalibrationIsThatOfTheOptionOfTraining) {
  const SmallArrays small;
  const auto data = small.handle();
  const auto at_once = trained(data.get(), {{"method", "ridge"}, {"false-accept", "0.2"}, {"seed", "5"}});
  const auto model = trained(data.get(), {{"method", "ridge"}, {"seed", "5"}});
  parsnets_open_set_options options = PARSNETS_OPEN_SET_OPTIONS_INIT;
  options.false_accept = 0.2;
  options.seed = 5;
  unsigned steps = 0;
  const auto count = [](const parsnets_progress*, void* user) {
    ++*static_cast<unsigned*>(user);
    return 0;
  };
  ASSERT_OK(parsnets_model_calibrate_open_set(model.get(), data.get(), &options, 2, count, &steps));
  EXPECT_GT(steps, 0u);
  const auto found = open_set_of(model.get()), expected = open_set_of(at_once.get());
  EXPECT_EQ(found.has_rejection, 1);
  EXPECT_EQ(found.has_sets, 1);
  EXPECT_EQ(found.false_accept, 0.2);
  EXPECT_EQ(found.classes, small.data.seen_classes().size());
  EXPECT_GT(found.samples, 0u);
  EXPECT_LE(found.accept_low, 20);
  using Found = parsnets_open_set;
  for (const auto measured : {&Found::accept_low, &Found::accept_high, &Found::rejected_seen, &Found::rejected_unseen,
                              &Found::auroc, &Found::confidence_auroc})
    EXPECT_EQ(found.*measured, expected.*measured);
  EXPECT_NE(std::string(info_of(model.get()).record).find("\"rejection\""), std::string::npos);

  const std::size_t n = small.data.samples();
  std::vector<std::int32_t> classes(n);
  std::vector<float> known(n), also_known(n);
  for (const auto& [one, out] : {std::pair{model.get(), &known}, std::pair{at_once.get(), &also_known}})
    ASSERT_OK(parsnets_predict_known(one, small.arrays.features, n, small.arrays.dimensions, nullptr, 0, 1,
                                     classes.data(), nullptr, out->data(), nullptr));
  EXPECT_EQ(known, also_known);
}

TEST(CApiOpenSet, SetsAreThoseOfCpp) {
  const SmallModel s({{"method", "ridge"}, {"false-accept", "0.2"}});
  const Model cpp = in_cpp(s.model.get());
  const Ranking ranking(cpp);
  ThreadPool pool(1);
  const Matrix<float> scores = cpp.scores(s.small.data.features.view(), pool);
  const std::size_t n = scores.rows(), c = scores.cols();
  std::vector<std::int32_t> members(n * c);
  std::vector<std::size_t> counts(n);
  std::size_t smaller = 0;
  for (const double coverage : {0.5, 0.95})
    for (const std::uint32_t threads : {1u, 3u}) {
      ASSERT_OK(parsnets_predict_sets(s.model.get(), s.small.arrays.features, n, s.small.arrays.dimensions, coverage,
                                      threads, members.data(), counts.data(), c));
      const auto thresholds = cpp.sets.thresholds(coverage, cpp.classes.seen);
      std::size_t all = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto expected = ranking.set(scores.row(i), thresholds);
        ASSERT_EQ(counts[i], expected.size());
        for (std::size_t j = 0; j < c; ++j)
          ASSERT_EQ(members[i * c + j], j < expected.size() ? expected[j].class_index : -1);
        all += counts[i];
      }
      EXPECT_GE(all, n) << "the best class at least";
      if (coverage == 0.5)
        smaller = all;
      else
        EXPECT_GT(all, smaller);
    }
  const auto predict = [&](const parsnets_model* which, double coverage, std::size_t classes) {
    return parsnets_predict_sets(which, s.small.arrays.features, 1, s.small.arrays.dimensions, coverage, 1,
                                 members.data(), counts.data(), classes);
  };
  EXPECT_TRUE(fails(predict(s.model.get(), 1, c), PARSNETS_USAGE, "coverage"));
  EXPECT_EQ(predict(s.model.get(), 0.9, c - 1), PARSNETS_BAD_INPUT);
  EXPECT_TRUE(fails(predict(trained(s.data.get()).get(), 0.9, c), PARSNETS_USAGE, "calibrate"));
}

TEST(CApiOpenSet, EvaluationIsThatOfCpp) {
  const SmallModel s({{"method", "ridge"}, {"false-accept", "0.2"}});
  const auto unseen = s.small.data.unseen_classes();
  const std::string left_out = s.small.data.class_names[static_cast<std::size_t>(unseen[0])];
  for (const bool chosen : {false, true}) {
    OpenSetEvaluationOptions wanted;
    wanted.inputs = 50;
    wanted.seed = 3;
    if (chosen) wanted.unknown_classes = {left_out};
    ThreadPool pool(1);
    const OpenSetEvaluation expected = evaluate_open_set(in_cpp(s.model.get()), s.small.data, wanted, pool);
    parsnets_no_class_inputs no_class[16];
    std::size_t kinds = 0;
    const char* name = left_out.c_str();
    parsnets_open_set_evaluation_options options{
        sizeof options, chosen ? &name : nullptr, chosen ? 1u : 0u, 50, 3, no_class, 16, &kinds};
    auto found = sized<parsnets_open_set_evaluation>();
    ASSERT_OK(parsnets_evaluate_open_set(s.model.get(), s.data.get(), &options, 2, nullptr, nullptr, &found));
    EXPECT_EQ(found.turns, chosen ? 1u : 2u);
    EXPECT_EQ(found.unknown.samples, expected.unknown.samples);
    EXPECT_EQ(found.unknown.accepted, expected.unknown.accepted);
    EXPECT_EQ(found.known_seen.accepted, expected.known_seen.accepted);
    EXPECT_EQ(found.known_unseen.of_classes.estimate, expected.known_unseen.of_classes.mean);
    EXPECT_EQ(found.known_right, expected.known_right);
    EXPECT_EQ(found.known_score.auroc, expected.by_known_score.auroc);
    EXPECT_EQ(found.known_score.fpr95, expected.by_known_score.fpr95);
    EXPECT_EQ(found.confidence.oscr, expected.by_confidence.oscr);
    ASSERT_EQ(kinds, expected.no_class.size());
    for (std::size_t i = 0; i < kinds; ++i) {
      EXPECT_EQ(no_class[i].name, expected.no_class[i].name);
      EXPECT_EQ(no_class[i].rejected, expected.no_class[i].rejected);
    }
    options.no_class_capacity = 1;
    EXPECT_EQ(parsnets_evaluate_open_set(s.model.get(), s.data.get(), &options, 1, nullptr, nullptr, &found),
              PARSNETS_USAGE);
    EXPECT_TRUE(fails(
        parsnets_evaluate_open_set(trained(s.data.get()).get(), s.data.get(), nullptr, 1, nullptr, nullptr, &found),
        PARSNETS_USAGE, "calibrate"));
  }
}

TEST(CApiOpenSet, CalibrationThatFailsLeavesTheModelAlone) {
  const SmallArrays small, other(4);
  const auto data = small.handle(), another = other.handle();
  const auto model = trained(data.get()), reverse = trained(data.get(), {{"method", "reverse-ridge"}});
  const auto calibrate = [](const ModelHandle& which, const DatasetHandle& on,
                            parsnets_open_set_options options = PARSNETS_OPEN_SET_OPTIONS_INIT,
                            parsnets_progress_function progress = nullptr) {
    return parsnets_model_calibrate_open_set(which.get(), on.get(), &options, 1, progress, nullptr);
  };
  parsnets_open_set_options wrong = PARSNETS_OPEN_SET_OPTIONS_INIT;
  wrong.false_accept = 1;
  EXPECT_TRUE(fails(calibrate(model, data, wrong), PARSNETS_USAGE, "'false-accept'"));
  wrong = PARSNETS_OPEN_SET_OPTIONS_INIT;
  wrong.reserved = 1;
  EXPECT_EQ(calibrate(model, data, wrong), PARSNETS_USAGE);
  EXPECT_EQ(calibrate(reverse, data), PARSNETS_USAGE);
  EXPECT_EQ(calibrate(model, another), PARSNETS_BAD_INPUT);
  const auto stop = [](const parsnets_progress*, void*) { return 1; };
  EXPECT_EQ(calibrate(model, data, PARSNETS_OPEN_SET_OPTIONS_INIT, stop), PARSNETS_CANCELLED);
  const auto found = open_set_of(model.get());
  EXPECT_EQ(found.has_rejection, 0);
  EXPECT_EQ(found.has_sets, 0);
}

}  // namespace parsnets::test
