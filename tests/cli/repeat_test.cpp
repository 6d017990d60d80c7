// train --like: the training that made a model, repeated.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "formats/safetensors.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

CliResult repeat(const std::string& like, const std::string& out, const std::string& data = kDemo,
                 const Words& options = {}) {
  return run_cli(Words{"train", "--data", data, "--out", out, "--quiet", "--like", like} + options);
}

/// The model again, with another record.
void rewrite_record(const std::string& from, const std::string& to, const std::string& field) {
  const SafetensorsFile file(from);
  auto metadata = file.metadata();
  auto record = nlohmann::json::parse(metadata["record"]);
  record.erase(field);
  metadata["record"] = record.dump();
  write_safetensors(to, metadata, file.tensors());
}

}  // namespace

using CliRepeat = FolderTest;

TEST_F(CliRepeat, TheSameTrainingGivesTheSameBytes) {
  const std::vector<Words> requests{
      {},
      {"--seed", "5", "--networks", "8", "--sharpness", "10", "--shrinkage", "0.3"},
      {"--search", "auto", "--folds", "2", "--time-budget", "0", "--refine-steps", "1"},
      {"--method", "paper", "--networks", "8", "--encoding", "16", "--active", "4", "--max-passes", "3"},
      {"--method", "ridge", "--search", "grid", "--grid", "lambda=1,3"}};
  for (const auto& request : requests) {
    const std::string first = train_demo(dir.file("first.safetensors"), request),
                      second = dir.file("second.safetensors");
    const auto again = expect_ok(repeat(first, second, kDemo, {"--threads", "1", "--json"}));
    EXPECT_TRUE(again.json()["like"]["identical"].get<bool>()) << again.out;
    EXPECT_TRUE(same_file_bytes(first, second));
  }
}

TEST_F(CliRepeat, TheFilesAreComparedByWhatTheyHold) {
  const std::string &model = model_of_demo(), out = dir.file("n.safetensors"), copy = dir.file("copy"),
                    taught = dir.file("t.safetensors");
  EXPECT_TRUE(has(repeat(model, out).out, "identical to " + model + "\n"));

  fs::copy(kDemo, copy);
  const auto renamed = expect_ok(repeat(model, out, copy));
  EXPECT_TRUE(has(renamed.out, "differs from " + model + ": metadata record.data.name: \"demo\" before, \"copy\" now"));

  run_ok({"adapt", "--model", model, "--input", kDemo + "/features.npy", "--out", taught});
  const auto adapted = repeat(taught, out, kDemo, {"--json"}).json()["like"];
  EXPECT_FALSE(adapted["identical"].get<bool>());
  EXPECT_EQ(adapted["difference"], "tensor adapted_samples is missing");
  ASSERT_EQ(adapted["reasons"].size(), 1u);
  EXPECT_TRUE(has(adapted["reasons"][0].get<std::string>(), "adapted since training"));
}

TEST_F(CliRepeat, OtherDataAreRefusedByWhatDiffers) {
  const std::string &model = model_of_demo(kRidge), out = dir.file("n.safetensors"), data = dir.file("demo");
  fs::copy(kDemo, data);
  const auto refused = [&](const std::string& part) {
    expect_error(repeat(model, out, data), 3, part);
    EXPECT_FALSE(fs::exists(out));
  };
  auto split = json_in(data + "/split.json");
  split["test_seen_samples"].erase(split["test_seen_samples"].begin());
  write_text_file(data + "/split.json", split.dump());
  refused("split test_seen of");
  fs::copy(kDemo + "/split.json", data + "/split.json", fs::copy_options::overwrite_existing);

  std::string attributes = read_text_file(data + "/attributes.csv");
  const std::string original = attributes;
  for (const auto& [name, seen] : {std::pair<std::string, bool>{"\nship,0", true}, {"\ntruck,0", false}}) {
    attributes = original;
    attributes.replace(attributes.find(name) + name.size() - 1, 1, "9");
    write_text_file(data + "/attributes.csv", attributes);
    if (seen) {
      refused("found others for the class 'ship'");
    } else {  // what unseen classes look like is no part of training, but of the file
      EXPECT_TRUE(has(repeat(model, out, data).out, ": tensor class_semantics\n"));
    }
  }

  fs::remove_all(data);
  run_ok({"data", "synth", data});
  fs::remove(out);
  refused("samples 2400, ");
}

TEST_F(CliRepeat, OptionsThatSayHowToTrainAreRefused) {
  const std::string &model = model_of_demo(kRidge), out = dir.file("n.safetensors"), old = dir.file("old.safetensors");
  expect_error(repeat(model, out, kDemo, {"--lambda", "3", "--seed", "2"}), 2,
               "--like conflicts with --lambda, --seed");
  EXPECT_EQ(repeat(model, model).exit_code, 2) << "over the model itself";
  EXPECT_EQ(repeat(model, out, kDemo, {"--stats", "s.safetensors"}).exit_code, 2);
  EXPECT_EQ(repeat(model, out, kDemo, {"--print-config"}).exit_code, 2);
  rewrite_record(model, old, "asked");
  expect_error(repeat(old, out), 3, "record.asked: expected the options");
  EXPECT_FALSE(run_json({"info", old}).contains("made_by"));
}

TEST_F(CliRepeat, ASplitFileIsFoundByItsName) {
  const std::string model = dir.file("m.safetensors"), out = dir.file("n.safetensors"),
                    split = dir.file("other split.json");
  fs::copy(kDemo + "/split.json", split);
  train_demo(model, {"--split", split, "--method", "ridge"});
  EXPECT_TRUE(has(repeat(model, out).out, "identical to"));
  EXPECT_EQ(run_json({"info", model})["made_by"],
            "parsnets train --data demo --split 'other split.json' --method ridge --seed 1 --out m.safetensors");
  EXPECT_TRUE(has(run_cli({"info", model}).out, "made by: parsnets train --data demo --split 'other split.json'"));
  const std::string run = dir.file("run");
  run_ok({"train", "--data", kDemo, "--like", model, "--run", run, "--quiet"});
  EXPECT_EQ(json_in(run + "/run.json")["command"],
            "parsnets train --data " + kDemo + " --split 'other split.json' --method ridge --seed 1 --run " + run);
  fs::remove(split);
  expect_error(repeat(model, out), 3, "the split file of training, other split.json");
}

TEST_F(CliRepeat, ModelsFromStatisticsNeedThemAgain) {
  const std::string sums = dir.file("s.safetensors"), model = dir.file("m.safetensors"),
                    out = dir.file("n.safetensors");
  run_ok({"stats", "--data", kDemo, "--out", sums, "--quiet"});
  train_demo(model, {"--stats", sums, "--shrinkage", "2"});
  expect_error(repeat(model, out), 2, "expected --stats with these, s.safetensors");
  EXPECT_TRUE(has(repeat(model, out, kDemo, {"--stats", sums}).out, "identical to"));
  EXPECT_EQ(run_json({"info", model})["made_by"],
            "parsnets train --data demo --stats s.safetensors --shrinkage 2.0 --seed 1 --out m.safetensors");
}

}  // namespace parsnets::test
