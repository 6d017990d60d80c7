#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.hpp"
#include "device/device_reader.hpp"
#include "expect.hpp"
#include "model/prediction.hpp"
#include "parsnets/device.hpp"
#include "parsnets/field.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets_rt.h"
#include "pool_test.hpp"
#include "rejecting_model.hpp"
#include "small_device.hpp"

namespace parsnets {
namespace {

using test::Judged;
using test::small_model;
using test::SmallBank;
using test::SmallDevice;
using DeviceModelTest = test::PoolTest;

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// What the runtime says of each row.
std::vector<pnrt_verdict> verdicts_of(const pnrt_model& model, const pnrt_bank* bank, MatrixView<const float> x,
                                      Among among, std::uint32_t k = 1) {
  std::vector<std::uint32_t> work((pnrt_work_bytes(&model, bank) + 3) / 4);
  std::vector<pnrt_match> top(k);
  std::vector<pnrt_verdict> verdicts(x.rows());
  const pnrt_query query{1, static_cast<std::uint32_t>(among)};
  for (std::size_t r = 0; r < x.rows(); ++r)
    EXPECT_EQ(pnrt_classify(&model, bank, x.row(r).data(), &query, top.data(), k, &verdicts[r], work.data(),
                            pnrt_work_bytes(&model, bank)),
              PNRT_OK);
  return verdicts;
}

struct Agreement {
  std::size_t near_a_bound = 0;  ///< samples with a score or evidence within the tolerance of a threshold or bound
  std::size_t unknown = 0;       ///< by the engine
};

/// Verdicts are equal but where the engine's own are within `tolerance` of changing, and so are known scores.
Agreement expect_agreement(const Rejection& rejection, const std::vector<Judged>& engine,
                           const std::vector<pnrt_verdict>& device, float tolerance, const std::string& what) {
  Agreement found;
  std::size_t wrong = 0, far = 0;
  for (std::size_t i = 0; i < engine.size(); ++i) {
    const Judged& one = engine[i];
    found.unknown += one.unknown ? 1 : 0;
    if (one.slack(rejection) <= tolerance) {
      ++found.near_a_bound;
      continue;
    }
    wrong += (device[i].unknown != 0) != one.unknown ? 1 : 0;
    far += one.score == kLowest ? device[i].known_score != kLowest
                                : !(std::abs(device[i].known_score - one.score) <= tolerance);
  }
  EXPECT_EQ(wrong, 0u) << what;
  EXPECT_EQ(far, 0u) << what;
  return found;
}

TEST_F(DeviceModelTest, TenThousandSamplesGetTheVerdictsOfTheEngine) {
  const Dataset data = synthesize({.classes = 40, .attributes = 30, .samples = 12000, .dimensions = 96, .hidden = 128});
  Model model = train(data, TrainOptions(), pool);
  const MatrixView<const float> x(data.features.view().data(), 10000, data.features.cols());
  test::reject_by_hand(model, x, pool);
  const DeviceModel device(device_file(model, Precision::float32, 0, pool), "device");
  const SmallDevice runtime({device.bytes().begin(), device.bytes().end()});
  for (const Among among : {Among::all, Among::seen, Among::unseen}) {
    const auto engine = test::judge(model, x, Ranking(model, among), pool);
    const auto found = expect_agreement(model.rejection, engine, verdicts_of(runtime.model, nullptr, x, among), 3e-5f,
                                        "among " + std::to_string(static_cast<int>(among)));
    EXPECT_LE(found.near_a_bound, 5u) << "of 10000 samples, for which no verdict is expected";
    EXPECT_GT(found.unknown, 1000u);
    EXPECT_LT(found.unknown, among == Among::all ? 7000u : 10000u);
    RecordProperty("near_a_bound_" + std::to_string(static_cast<int>(among)), static_cast<int>(found.near_a_bound));
    std::size_t unknown = 0;
    for (const auto verdict : device.unknown(x, among, pool)) unknown += verdict;
    EXPECT_NEAR(static_cast<double>(unknown), static_cast<double>(found.unknown), found.near_a_bound);
  }
}

TEST_F(DeviceModelTest, VerdictsAreThoseOfTheEngineForEveryKindOfModel) {
  const Matrix<float> x = test::small_samples(900);
  std::set<bool> spans, shared;
  for (const char* kind : {"classes", "classes closed", "classes linear", "classes tables"}) {
    Model model = test::rejecting_model(kind, pool);
    const auto file = device_file(model, Precision::float32, 0, pool);
    const DeviceInfo info = read_device_info(file, kind);
    spans.insert(info.section(DevicePart::span).present());
    shared.insert(info.section(DevicePart::shared).present());
    const SmallDevice runtime(file);
    for (const Among among : {Among::all, Among::seen, Among::unseen}) {
      const auto engine = test::judge(model, x.view(), Ranking(model, among), pool);
      const auto one = verdicts_of(runtime.model, nullptr, x.view(), among),
                 many = verdicts_of(runtime.model, nullptr, x.view(), among, 5);
      const auto found = expect_agreement(model.rejection, engine, one, 3e-5f, kind);
      EXPECT_LE(found.near_a_bound, 2u) << kind;
      EXPECT_GT(found.unknown, 90u) << kind;
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].known_score, many[i].known_score) << kind << ": the number of classes asked for says nothing";
        EXPECT_EQ(one[i].unknown, many[i].unknown) << kind;
      }
    }
  }
  EXPECT_EQ(spans.size() + shared.size(), 3u) << "with a span always; with and without a shared network";
}

TEST_F(DeviceModelTest, RoundedModelsGiveNearlyTheSameVerdictsAndInt8TheSameBitsOnEveryPath) {
  const Matrix<float> x = test::small_samples(900);
  for (const char* kind : {"classes", "classes closed", "classes linear", "classes tables"}) {
    const Model model = test::rejecting_model(kind, pool);
    const auto engine = test::judge(model, x.view(), Ranking(model), pool);
    for (const auto& [precision, most, error] :
         {std::tuple{Precision::float16, 9, 0.01}, std::tuple{Precision::int8, 27, 0.05}}) {
      const DeviceModel device(device_file(model, precision, 0, pool), kind);
      const auto verdicts = device.unknown(x.view(), Among::all, pool);
      SmallDevice runtime({device.bytes().begin(), device.bytes().end()});
      const auto scores = verdicts_of(runtime.model, nullptr, x.view(), Among::all);
      runtime.model.path = PNRT_SCALAR;
      const auto plain = verdicts_of(runtime.model, nullptr, x.view(), Among::all);
      int other = 0, compared = 0;
      double sum = 0;
      for (std::size_t i = 0; i < engine.size(); ++i) {
        ASSERT_TRUE(precision != Precision::int8 || scores[i].known_score == plain[i].known_score) << kind;
        other += (verdicts[i] != 0) != engine[i].unknown;
        if (engine[i].score == kLowest || scores[i].known_score == kLowest) continue;
        ++compared;
        sum += std::abs(engine[i].score - scores[i].known_score);
      }
      EXPECT_LE(other, most) << kind << " of 900 samples";
      EXPECT_LT(sum / compared, error) << kind;
    }
  }
}

TEST_F(DeviceModelTest, AZeroVectorNoiseAndHugeValuesGetTheVerdictOfTheEngine) {
  for (const char* kind : {"classes", "classes closed"}) {
    const Model model = test::rejecting_model(kind, pool);
    const SmallDevice device(device_file(model, Precision::float32, 0, pool));
    for (const float size : {0.0f, 1e-30f, 1e-6f, 1.0f, 100.0f, 1e10f, 1e19f}) {
      Matrix<float> x(20, model.dimensions);
      Rng rng(5);
      for (float& v : x.values()) v = size * static_cast<float>(rng.normal());
      const auto engine = test::judge(model, x.view(), Ranking(model), pool);
      const auto found = verdicts_of(device.model, nullptr, x.view(), Among::all);
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (engine[i].slack(model.rejection) <= 1e-3f) continue;
        EXPECT_EQ(found[i].unknown != 0, engine[i].unknown) << kind << ", size " << size;
      }
    }
  }
}

TEST_F(DeviceModelTest, AddedRemovedAndTaughtClassesAreJudgedAsInTheEngine) {
  const Matrix<float> x = test::small_samples(900);
  for (const char* kind : {"classes", "classes closed", "classes linear", "classes tables"}) {
    Model model = test::rejecting_model(kind, pool);
    SmallBank device(device_file(model, Precision::float32, 0, pool), 4);
    const std::vector<std::string> gone{model.classes.names[1], model.classes.names.back()};
    std::vector<std::vector<float>> attributes;
    for (const auto& name : gone) {
      const auto c =
          static_cast<std::size_t>(std::ranges::find(model.classes.names, name) - model.classes.names.begin());
      attributes.emplace_back(model.classes.semantics.row(c).begin(), model.classes.semantics.row(c).end());
      ASSERT_EQ(device.remove(name), PNRT_OK);
    }
    for (std::size_t i = 0; i < gone.size(); ++i) ASSERT_EQ(device.add("new " + gone[i], attributes[i]), PNRT_OK);
    const Matrix<float> examples = test::small_samples(3);
    const std::vector<std::string> taught{model.classes.names[0], "new " + gone[1]};
    for (const auto& name : taught) ASSERT_EQ(device.teach(name.c_str(), examples.data(), 3), PNRT_OK);
    for (std::size_t i = 0; i < gone.size(); ++i) model.add_class("new " + gone[i], attributes[i]);
    model.remove_classes(gone);
    // A class that has learned keeps the length that its place had.
    PreparedClasses before = model.prepare_classes(pool);
    for (const auto& name : taught) teach(model, name, examples.view(), pool);
    auto prepared = std::make_shared<PreparedClasses>(model.prepare_classes(pool));
    EXPECT_NE(prepared->lengths, before.lengths);
    prepared->lengths = before.lengths;
    const Predictor predictor(model, prepared);
    std::size_t added = 0;
    for (const Among among : {Among::all, Among::seen, Among::unseen}) {
      const auto engine = test::judge(model, predictor, x.view(), Ranking(model, among), pool);
      const auto found = expect_agreement(model.rejection, engine,
                                          verdicts_of(device.model, &device.bank, x.view(), among), 3e-4f, kind);
      EXPECT_LE(found.near_a_bound, 9u) << kind;
      for (const Judged& one : engine) added += model.classes.names[one.best].starts_with("new ");
    }
    EXPECT_GT(added, 50u) << kind << ": added classes must win";
  }
}

TEST_F(DeviceModelTest, ABankRejectsAsItsModelAndGoesOnAfterLoading) {
  const Model model = test::rejecting_model("classes", pool);
  const DeviceModel device(device_file(model, Precision::int8, 0, pool), "device");
  const Matrix<float> x = test::small_samples(300);
  SmallBank bank({device.bytes().begin(), device.bytes().end()}), again(bank.file);
  const auto unknown = [&](const SmallBank& of) {
    std::vector<std::uint8_t> all;
    for (const auto& verdict : verdicts_of(of.model, &of.bank, x.view(), Among::all))
      all.push_back(static_cast<std::uint8_t>(verdict.unknown));
    return all;
  };
  ASSERT_TRUE(device.rejects());
  EXPECT_EQ(unknown(bank), device.unknown(x.view(), Among::all, pool));
  ASSERT_EQ(bank.add("new", model.classes.semantics.row(2)), PNRT_OK);
  ASSERT_EQ(bank.teach("new", x.data(), 4), PNRT_OK);
  ASSERT_EQ(bank.remove(model.classes.names[2]), PNRT_OK);
  const auto changed = unknown(bank);
  EXPECT_NE(changed, device.unknown(x.view(), Among::all, pool));
  ASSERT_EQ(again.load(bank.save()), PNRT_OK);
  EXPECT_EQ(unknown(again), changed);
}

TEST_F(DeviceModelTest, OneCandidateIsJudgedAndNoneIsUnknown) {
  const Model model = test::rejecting_model("classes", pool);
  SmallBank device(device_file(model, Precision::float32, 0, pool), 1);
  const Matrix<float> x = test::small_samples(50);
  for (std::size_t c = 1; c < model.classes.names.size(); ++c)
    ASSERT_EQ(device.remove(model.classes.names[c]), PNRT_OK);
  const auto engine = test::judge(model, x.view(), Ranking(model, {0}), pool);
  expect_agreement(model.rejection, engine, verdicts_of(device.model, &device.bank, x.view(), Among::all), 3e-4f,
                   "one");
  ASSERT_EQ(device.remove(model.classes.names[0]), PNRT_OK);
  for (const auto& verdict : verdicts_of(device.model, &device.bank, x.view(), Among::all)) {
    EXPECT_EQ(verdict.count, 0u);
    EXPECT_EQ(verdict.unknown, 1u);
    EXPECT_EQ(verdict.known_score, kLowest);
  }
}

TEST_F(DeviceModelTest, IsEvaluatedOnFeaturesOfItsSourceAlone) {
  Model model = test::small_model("classes", pool);
  model.record.data.source = test::small_source();
  const DeviceModel device(device_file(model, Precision::int8, 0, pool), "device");
  Dataset data = test::small_training_set();
  const double plain = evaluate(device, data, pool).zsl.top1;  // data that do not know their source
  data.source = test::small_source();
  data.source->backbone = "renamed.onnx";
  EXPECT_EQ(evaluate(device, data, pool).zsl.top1, plain);
  data.source->input.width = 97;
  test::expect_error([&] { evaluate(device, data, pool); },
                     "features of the backbone of training, net.onnx (sha256 0123456789ab)");
}

TEST_F(DeviceModelTest, RejectionIsRefusedWhereThereIsNone) {
  const Matrix<float> x = test::small_samples(1);
  const DeviceModel device(device_file(small_model("classes", pool), Precision::int8, 0, pool), "device");
  EXPECT_FALSE(device.rejects());
  test::expect_error([&] { device.unknown(x.view(), Among::all, pool); }, "no rejection", ErrorCode::usage);
  SmallDevice runtime({device.bytes().begin(), device.bytes().end()});
  pnrt_match best;
  pnrt_verdict verdict;
  const auto classify = [&](std::uint32_t reject) {
    const pnrt_query query{reject, PNRT_ALL};
    return pnrt_classify(&runtime.model, nullptr, x.data(), &query, &best, 1, &verdict, runtime.work.data(),
                         runtime.work_bytes());
  };
  EXPECT_EQ(classify(1), PNRT_NO_REJECTION);
  EXPECT_EQ(classify(2), PNRT_BAD_ARGUMENT);
  EXPECT_EQ(classify(0), PNRT_OK);
  EXPECT_EQ(verdict.unknown, 0u);
  EXPECT_EQ(verdict.known_score, 0.0f);
}

}  // namespace
}  // namespace parsnets
