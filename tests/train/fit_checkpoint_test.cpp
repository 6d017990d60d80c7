#include "train/fit_checkpoint.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"
#include "train/fitter.hpp"

namespace parsnets {
namespace {

using FitCheckpoint = test::SmallTraining;

TrainOptions refined_options(const Dataset& data) {
  return resolve_options(test::small_options("parsnets", "refine-steps=6"), data);
}

TEST_F(FitCheckpoint, RefinementGoesOnToTheSameModel) {
  TrainOptions options = refined_options(data);
  const Model whole = Fitter(data, data.split.trainval, pool, nullptr).fit(options);
  struct Stop {};
  Fitter fitter(data, data.split.trainval, pool, nullptr);
  EXPECT_THROW(fitter.fit(options, dir / "c", nullptr,
                          [](int steps, Model&, const DescentOutputs&) {
                            if (steps == 2) throw Stop{};
                            return true;
                          }),
               Stop);
  ASSERT_TRUE(std::filesystem::exists(dir / "c.steps"));
  options.run.resume = true;
  std::vector<int> seen;
  const Model resumed = Fitter(data, data.split.trainval, pool, nullptr)
                            .fit(options, dir / "c", nullptr, [&](int steps, Model&, const DescentOutputs&) {
                              seen.push_back(steps);
                              return true;
                            });
  EXPECT_EQ(seen, (std::vector<int>{2, 3, 4, 5, 6}));
  ASSERT_EQ(resumed.record.refinement.size(), whole.record.refinement.size());
  for (std::size_t i = 0; i < whole.record.refinement.size(); ++i)
    EXPECT_NEAR(resumed.record.refinement[i].objective, whole.record.refinement[i].objective, 1e-5);
  for (std::size_t i = 0; i < whole.networks.size(); ++i)
    EXPECT_NEAR(resumed.networks.data()[i], whole.networks.data()[i], 1e-4);
}

TEST_F(FitCheckpoint, FoldsComeBackAsTheyWere) {
  const FoldState state{
      {61.5, 42.25, 0.125, 0.0625},
      FieldFold{Matrix<float>(3, 2, 0.5f),
                {0, 1, 2},
                1,
                Matrix<float>(1, 2, 0.25f),
                Matrix<float>(2, 2, -1.0f),
                0.5,
                {Matrix<float>(2, 3, 1.0f), Matrix<float>(1, 3, 2.0f), Matrix<float>(2, 2, -0.5f), 1.25, 0.125},
                0.75}};
  save_fold(dir / "f", "this fit", state);
  const FoldState read = load_fold(dir / "f", "this fit");
  EXPECT_EQ(read.result.zsl, 61.5);
  EXPECT_EQ(read.result.temperature, 0.0625);
  ASSERT_TRUE(read.field);
  EXPECT_EQ(read.field->labels, state.field->labels);
  EXPECT_EQ(read.field->fit(1, 1), -1.0f);
  EXPECT_EQ(read.field->gamma, 0.5);
  EXPECT_EQ(read.field->map.means(1, 0), -0.5f);
  EXPECT_EQ(read.field->map.ridge, 0.125);
  EXPECT_EQ(read.field->least_length, 0.75);
}

TEST_F(FitCheckpoint, FingerprintsTellApartWhatAFitDependsOn) {
  const TrainOptions options = refined_options(data);
  const auto of = [&](const TrainOptions& o) {
    return fit_fingerprint(data, data.split.trainval, o, data.split.test_seen);
  };
  const std::string before = of(options);
  TrainOptions other = options;
  other.run.memory_limit = 1 << 30;  // does not steer the fit
  EXPECT_EQ(of(other), before);
  std::get<ParsNetsOptions>(other.method).refine_steps = 7;
  EXPECT_NE(of(other), before);
  EXPECT_NE(fit_fingerprint(data, data.split.trainval, options), before);
  data.semantics.values(0, 0) += 1;
  EXPECT_NE(of(options), before);
  data.semantics.values(0, 0) -= 1;
  EXPECT_EQ(of(options), before);
  data.labels[static_cast<std::size_t>(data.split.trainval[0])] += 1;
  EXPECT_NE(of(options), before);
}

TEST_F(FitCheckpoint, OtherOrDamagedFilesAreRefused) {
  save_fold(dir / "f", "this fit", {});
  const auto code_of = [&](const std::string& fingerprint) {
    return test::code_of([&] { load_fold(dir / "f", fingerprint); });
  };
  EXPECT_EQ(code_of("another fit"), ErrorCode::bad_input);
  EXPECT_NO_THROW(load_fold(dir / "f", "this fit"));
  std::string bytes = read_text_file(dir / "f");
  bytes.replace(bytes.find("zsl"), 3, "zzz");
  write_text_file(dir / "f", bytes);
  EXPECT_EQ(code_of("this fit"), ErrorCode::bad_input);
}

}  // namespace
}  // namespace parsnets
