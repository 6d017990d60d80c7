// train --like: the training that made a model, repeated.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "formats/safetensors.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

CliResult train_demo(const std::string& out, std::vector<std::string> options, const std::string& data = kDemo) {
  options.insert(options.begin(), {"train", "--data", data, "--out", out, "--quiet"});
  return run_cli(options);
}

CliResult repeat(const std::string& like, const std::string& out, const std::string& data = kDemo,
                 std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"--like", like});
  return train_demo(out, options, data);
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

TEST(CliRepeat, TheSameTrainingGivesTheSameBytes) {
  TempDir dir;
  const std::vector<std::vector<std::string>> requests{
      {},
      {"--seed", "5", "--networks", "8", "--sharpness", "10", "--shrinkage", "0.3"},
      {"--search", "auto", "--folds", "2", "--time-budget", "0", "--refine-steps", "1"},
      {"--method", "paper", "--networks", "8", "--encoding", "16", "--active", "4", "--max-passes", "3"},
      {"--method", "ridge", "--search", "grid", "--grid", "lambda=1,3"}};
  for (const auto& request : requests) {
    const std::string first = (dir / "first.safetensors").string(), second = (dir / "second.safetensors").string();
    const auto trained = train_demo(first, request);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const auto again = repeat(first, second, kDemo, {"--threads", "1", "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_TRUE(again.json()["like"]["identical"].get<bool>()) << again.out;
    EXPECT_TRUE(same_file_bytes(first, second));
  }
}

TEST(CliRepeat, TheFilesAreComparedByWhatTheyHold) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), out = (dir / "n.safetensors").string(),
                    copy = (dir / "copy").string(), taught = (dir / "t.safetensors").string();
  ASSERT_EQ(train_demo(model, {}).exit_code, 0);
  EXPECT_NE(repeat(model, out).out.find("identical to " + model + "\n"), std::string::npos);

  std::filesystem::copy(kDemo, copy);
  const auto renamed = repeat(model, out, copy);
  ASSERT_EQ(renamed.exit_code, 0) << renamed.err;
  EXPECT_NE(renamed.out.find("differs from " + model + ": metadata record.data.name: \"demo\" before, \"copy\" now"),
            std::string::npos)
      << renamed.out;

  ASSERT_EQ(run_cli({"adapt", "--model", model, "--input", kDemo + "/features.npy", "--out", taught}).exit_code, 0);
  const auto adapted = repeat(taught, out, kDemo, {"--json"}).json()["like"];
  EXPECT_FALSE(adapted["identical"].get<bool>());
  EXPECT_EQ(adapted["difference"], "tensor adapted_samples is missing");
  ASSERT_EQ(adapted["reasons"].size(), 1u);
  EXPECT_NE(adapted["reasons"][0].get<std::string>().find("adapted since training"), std::string::npos);
}

TEST(CliRepeat, OtherDataAreRefusedByWhatDiffers) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), out = (dir / "n.safetensors").string(),
                    data = (dir / "demo").string();
  ASSERT_EQ(train_demo(model, {"--method", "ridge"}).exit_code, 0);
  std::filesystem::copy(kDemo, data);
  const auto refused = [&](const std::string& part) {
    const auto result = repeat(model, out, data);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  auto split = nlohmann::json::parse(read_text_file(data + "/split.json"));
  split["test_seen_samples"].erase(split["test_seen_samples"].begin());
  write_text_file(data + "/split.json", split.dump());
  refused("split test_seen of");
  std::filesystem::copy(kDemo + "/split.json", data + "/split.json", std::filesystem::copy_options::overwrite_existing);

  std::string attributes = read_text_file(data + "/attributes.csv");
  const std::string original = attributes;
  for (const auto& [name, seen] : {std::pair<std::string, bool>{"\nship,0", true}, {"\ntruck,0", false}}) {
    attributes = original;
    attributes.replace(attributes.find(name) + name.size() - 1, 1, "9");
    write_text_file(data + "/attributes.csv", attributes);
    if (seen) {
      refused("found others for the class 'ship'");
    } else {  // what unseen classes look like is no part of training, but of the file
      EXPECT_NE(repeat(model, out, data).out.find(": tensor class_semantics\n"), std::string::npos);
    }
  }

  std::filesystem::remove_all(data);
  ASSERT_EQ(run_cli({"data", "synth", data}).exit_code, 0);
  std::filesystem::remove(out);
  refused("samples 2400, ");
}

TEST(CliRepeat, OptionsThatSayHowToTrainAreRefused) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), out = (dir / "n.safetensors").string(),
                    old = (dir / "old.safetensors").string();
  ASSERT_EQ(train_demo(model, {"--method", "ridge"}).exit_code, 0);
  const auto refused = repeat(model, out, kDemo, {"--lambda", "3", "--seed", "2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--like conflicts with --lambda, --seed"), std::string::npos) << refused.err;
  EXPECT_EQ(repeat(model, model).exit_code, 2) << "over the model itself";
  EXPECT_EQ(repeat(model, out, kDemo, {"--stats", "s.safetensors"}).exit_code, 2);
  EXPECT_EQ(repeat(model, out, kDemo, {"--print-config"}).exit_code, 2);
  rewrite_record(model, old, "asked");
  const auto earlier = repeat(old, out);
  EXPECT_EQ(earlier.exit_code, 3);
  EXPECT_NE(earlier.err.find("record.asked: expected the options"), std::string::npos) << earlier.err;
  EXPECT_FALSE(run_cli({"info", old, "--json"}).json().contains("made_by"));
}

TEST(CliRepeat, ASplitFileIsFoundByItsName) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), out = (dir / "n.safetensors").string(),
                    split = (dir / "other split.json").string();
  std::filesystem::copy(kDemo + "/split.json", split);
  ASSERT_EQ(train_demo(model, {"--split", split, "--method", "ridge"}).exit_code, 0);
  const auto again = repeat(model, out);
  EXPECT_NE(again.out.find("identical to"), std::string::npos) << again.out << again.err;
  EXPECT_EQ(run_cli({"info", model, "--json"}).json()["made_by"],
            "parsnets train --data demo --split 'other split.json' --method ridge --seed 1 --out m.safetensors");
  EXPECT_NE(run_cli({"info", model}).out.find("made by: parsnets train --data demo --split 'other split.json'"),
            std::string::npos);
  const std::string run = (dir / "run").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--like", model, "--run", run, "--quiet"}).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(read_text_file(run + "/run.json"))["command"],
            "parsnets train --data " + kDemo + " --split 'other split.json' --method ridge --seed 1 --run " + run);
  std::filesystem::remove(split);
  const auto lost = repeat(model, out);
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_NE(lost.err.find("the split file of training, other split.json"), std::string::npos) << lost.err;
}

TEST(CliRepeat, ModelsFromStatisticsNeedThemAgain) {
  TempDir dir;
  const std::string sums = (dir / "s.safetensors").string(), model = (dir / "m.safetensors").string(),
                    out = (dir / "n.safetensors").string();
  ASSERT_EQ(run_cli({"stats", "--data", kDemo, "--out", sums, "--quiet"}).exit_code, 0);
  ASSERT_EQ(train_demo(model, {"--stats", sums, "--shrinkage", "2"}).exit_code, 0);
  const auto without = repeat(model, out);
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("expected --stats with these, s.safetensors"), std::string::npos) << without.err;
  const auto again = repeat(model, out, kDemo, {"--stats", sums});
  EXPECT_NE(again.out.find("identical to"), std::string::npos) << again.out << again.err;
  EXPECT_EQ(run_cli({"info", model, "--json"}).json()["made_by"],
            "parsnets train --data demo --stats s.safetensors --shrinkage 2.0 --seed 1 --out m.safetensors");
}

}  // namespace parsnets::test
