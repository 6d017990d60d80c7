// Calibration for unknown samples, run as a user would.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/model.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

const std::string kDemo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo";

struct Calibrated {
  TempDir dir;
  std::string model = (dir / "m.safetensors").string();
  Calibrated() { EXPECT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--quiet"}).exit_code, 0); }
  CliResult calibrate(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"calibrate", "--model", model, "--data", kDemo, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_cli(arguments);
  }
};

}  // namespace

TEST(CliCalibrate, StoresRejectionAtTheStatedRateAndSaysWhatItCosts) {
  const Calibrated demo;
  const std::string out = (demo.dir / "open.safetensors").string(), before = read_text_file(demo.model);
  const auto result = demo.calibrate({"--false-accept", "10%", "--out", out, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rejection = result.json()["rejection"];
  EXPECT_EQ(rejection["false_accept"], 10);
  EXPECT_EQ(rejection["classes"], 8);
  EXPECT_LE(rejection["accept_interval"][0], 10);
  EXPECT_GE(rejection["accept_interval"][1], 9);
  EXPECT_GT(rejection["auroc"], rejection["confidence_auroc"]);
  EXPECT_LE(rejection["accepted"], 10);
  EXPECT_TRUE(same_bytes(before, read_text_file(demo.model)));  // --out leaves the model as it was
  const Model model = load_model(out);
  EXPECT_EQ(model.rejection.false_accept, 0.1);
  EXPECT_FALSE(model.sets.empty());
  const auto text = demo.calibrate({});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find(" % of unknown samples where 5 % may be (95 % interval over 8 held-out classes: "),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("price: rejects"), std::string::npos) << text.out;
  EXPECT_EQ(load_model(demo.model).rejection.false_accept, 0.05);  // in place
}

TEST(CliCalibrate, ZeroAndConstantVectorsAreUnknown) {
  const Calibrated demo;  // its features have a mean near 0: a zero vector is near the centre of all classes
  ASSERT_EQ(demo.calibrate({"--false-accept", "20%"}).exit_code, 0);
  const auto result = run_cli({"eval", "--model", demo.model, "--data", kDemo, "--open-set", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::size_t found = 0;
  const auto told = result.json();
  for (const auto& kind : told["open_set"]["no_class"])
    if (kind["name"] == "zero" || kind["name"] == "constant") {
      EXPECT_EQ(kind["rejected"], 100) << kind["name"];
      ++found;
    }
  EXPECT_EQ(found, 2u);
}

TEST(CliCalibrate, TrainingWithTheSameRateWritesTheSameRejection) {
  const Calibrated demo;
  ASSERT_EQ(demo.calibrate({"--false-accept", "20%"}).exit_code, 0);
  const std::string trained = (demo.dir / "t.safetensors").string();
  const auto result = run_cli({"train", "--data", kDemo, "--out", trained, "--false-accept", "0.2", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("of unknown samples where 20 % may be"), std::string::npos) << result.out;
  EXPECT_EQ(load_model(trained).rejection, load_model(demo.model).rejection);
  EXPECT_EQ(load_model(trained).sets, load_model(demo.model).sets);
}

TEST(CliCalibrate, ImpossibleRequestsAreRefusedAndLeaveTheModel) {
  const Calibrated demo;
  const std::string before = read_text_file(demo.model);
  for (const char* share : {"0", "0%", "100%", "1.5", "five"})
    EXPECT_EQ(demo.calibrate({"--false-accept", share}).exit_code, 2) << share;
  EXPECT_EQ(run_cli({"calibrate", "--model", demo.model}).exit_code, 2);
  const std::string other = (demo.dir / "other").string();
  ASSERT_EQ(run_cli({"data", "synth", other, "--samples", "400", "--quiet"}).exit_code, 0);
  const auto wrong = run_cli({"calibrate", "--model", demo.model, "--data", other});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_NE(wrong.err.find("what the model was trained with"), std::string::npos) << wrong.err;
  EXPECT_TRUE(same_bytes(before, read_text_file(demo.model)));
}

}  // namespace parsnets::test
