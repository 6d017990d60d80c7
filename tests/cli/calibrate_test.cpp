// Calibration for unknown samples, run as a user would.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/model.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

struct CliCalibrate : FolderTest {
  const std::string file = dir.file("m.safetensors");
  CliCalibrate() { fs::copy_file(model_of_demo(), file); }
  CliResult calibrate(Words more) const {
    return run_cli(Words{"calibrate", "--model", file, "--data", kDemo, "--quiet", "--force"} + more);
  }
};

TEST_F(CliCalibrate, StoresRejectionAtTheStatedRateAndSaysWhatItCosts) {
  const std::string out = dir.file("open.safetensors"), before = read_text_file(file);
  const auto rejection = expect_ok(calibrate({"--false-accept", "10%", "--out", out, "--json"})).json()["rejection"];
  EXPECT_TRUE(has_members(rejection, {{"false_accept", 10}, {"classes", 8}}));
  EXPECT_LE(rejection["accept_interval"][0], 10);
  EXPECT_GE(rejection["accept_interval"][1], 9);
  EXPECT_GT(rejection["auroc"], rejection["confidence_auroc"]);
  EXPECT_LE(rejection["accepted"], 10);
  EXPECT_TRUE(same_bytes(before, read_text_file(file)));  // --out leaves the model as it was
  const Model model = load_model(out);
  EXPECT_EQ(model.rejection.false_accept, 0.1);
  EXPECT_FALSE(model.sets.empty());
  const auto text = expect_ok(calibrate({}));
  EXPECT_TRUE(has(text.out, " % of unknown samples (target: 5 %; 95 % interval over 8 held-out classes: "));
  EXPECT_TRUE(has(text.out, "false rejection: "));
  EXPECT_EQ(load_model(file).rejection.false_accept, 0.05);  // in place
}

TEST_F(CliCalibrate, ThePriceStaysWithTheModelAndWeakRejectionIsWarnedOf) {
  const auto measured = expect_ok(calibrate({"--false-accept", "5%", "--json"})).json()["rejection"];
  const auto info = run_json({"info", file})["rejection"];
  for (const char* key : {"rejected_seen", "rejected_unseen", "auroc"})
    EXPECT_EQ(info[key].get<double>(), measured[key].get<double>() / 100) << key;
  EXPECT_TRUE(has(run_cli({"info", file}).out, "rejection: to accept 5 % of unknown samples; rejects "));

  const std::string features = kDemo + "/features.npy", out = dir.file("p.csv");
  const auto predict = [&](Words more) {
    return run_cli(Words{"predict", "--model", file, "--input", features, "--out", out} + more);
  };
  Model model = load_model(file);
  for (const auto& [auroc, rejected, weak] : {std::tuple{60.0, 10.0, true}, {61.0, 50.0, false}, {90.0, 50.5, true}}) {
    model.record.rejection->auroc = auroc;
    model.record.rejection->rejected_seen = 5;
    model.record.rejection->rejected_unseen = rejected;
    save_model(model, file);
    const auto told = expect_ok(predict({"--reject", "--json"}));
    EXPECT_EQ(told.err.find("warning: rejection hardly works for this model: ") != std::string::npos, weak) << told.err;
    EXPECT_EQ(told.json().contains("warnings"), weak) << auroc << " " << rejected;
    EXPECT_FALSE(has(predict({}).err, "rejection"));  // it was not asked for
  }
}

TEST_F(CliCalibrate, ARejectionThatHardlyWorksIsStoredOnlyByForce) {
  const auto refused = run_ok({"calibrate", file, kDemo, "--quiet", "--json"});
  EXPECT_EQ(refused.json()["has_rejection"], false);
  EXPECT_LT(refused.json()["rejection"]["auroc"], 60);
  EXPECT_TRUE(has(refused.err, "the model gets no rejection: on held-out classes its AUROC is"));
  EXPECT_TRUE(load_model(file).rejection.empty() && !load_model(file).sets.empty());
  EXPECT_EQ(expect_ok(calibrate({"--json"})).json()["has_rejection"], true);
  EXPECT_FALSE(load_model(file).rejection.empty());
}

TEST_F(CliCalibrate, ZeroAndConstantVectorsAreUnknown) {
  // Its features have a mean near 0: a zero vector is near the centre of all classes
  ASSERT_EQ(calibrate({"--false-accept", "20%"}).exit_code, 0);
  std::size_t found = 0;
  const auto told = run_json({"eval", "--model", file, "--data", kDemo, "--unknown-classes", "halves", "--quiet"});
  for (const auto& kind : told["open_set"]["no_class"])
    if (kind["name"] == "zero" || kind["name"] == "constant") {
      EXPECT_EQ(kind["rejected"], 100) << kind["name"];
      ++found;
    }
  EXPECT_EQ(found, 2u);
}

TEST_F(CliCalibrate, TrainingWithTheSameRateWritesTheSameRejection) {
  ASSERT_EQ(calibrate({"--false-accept", "20%"}).exit_code, 0);
  const std::string trained = dir.file("t.safetensors");
  const auto result = run_ok({"train", "--data", kDemo, "--out", trained, "--false-accept", "0.2", "--quiet"});
  EXPECT_TRUE(has(result.out, "of unknown samples (target: 20 %"));
  EXPECT_EQ(load_model(trained).rejection, load_model(file).rejection);
  EXPECT_EQ(load_model(trained).sets, load_model(file).sets);
}

TEST_F(CliCalibrate, ImpossibleRequestsAreRefusedAndLeaveTheModel) {
  const std::string before = read_text_file(file);
  for (const char* share : {"0", "0%", "100%", "1.5", "five"})
    EXPECT_EQ(calibrate({"--false-accept", share}).exit_code, 2) << share;
  run_error({"calibrate", "--model", file}, 2);
  const std::string other = dir.file("other");
  run_ok({"data", "synth", other, "--samples", "400", "--quiet"});
  run_error({"calibrate", "--model", file, "--data", other}, 3, "what the model was trained with");
  EXPECT_TRUE(same_bytes(before, read_text_file(file)));
}

}  // namespace parsnets::test
