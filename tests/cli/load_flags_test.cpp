// Files chosen by options, in every command that reads a data set, and reloaded by commands that are given a model.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "data/synth.hpp"
#include "formats/array_files.hpp"
#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets::test {

namespace {

/// A folder of .mat files "set" with class lists and further features, and word vectors beside it.
class LoadFlags : public FolderTest {
 protected:
  LoadFlags() {
    data_.features_name = "res";
    test::save_xlsa17(data_, dir / "set");
    write_npy(dir / "set/clip.npy", data_.features.view());
    std::string words, seen, unseen;
    for (std::size_t c = 0; c < 10; ++c) {
      words += data_.class_names[c];
      for (int j = 0; j < 4; ++j) words += " " + std::to_string(data_.semantics.values(c, static_cast<std::size_t>(j)));
      words += "\n";
      (c < 6 ? seen : unseen) += data_.class_names[c] + "\n";
    }
    write_text_file(dir / "w2v.txt", words);
    fs::create_directories(dir / "set/standard_split");
    write_text_file(dir / "set/standard_split/trainvalclasses.txt", seen);
    write_text_file(dir / "set/standard_split/testclasses.txt", unseen);
  }

  /// In the folder above the data set, so that relative paths are those of the user.
  CliResult here(Words words, bool chosen) const {
    if (chosen) words.insert(words.end(), {"--features", "clip", "--semantics", "att,w2v.txt", "--split", "standard"});
    return run_cli(words, "cd " + shell_quoted(dir.path().string()) + " &&");
  }

  Dataset data_ = synthesize({.classes = 10, .samples = 200, .dimensions = 8, .hidden = 8});
};

}  // namespace

TEST_F(LoadFlags, EveryCommandTakesThem) {
  for (const Words& words :
       {Words{"train", "--data", "set", "--out", "m.safetensors"}, Words{"train", "--data", "set", "--run", "run"},
        Words{"bench", "--data", "set", "--methods", "sae"}, Words{"stats", "--data", "set", "--out", "s.safetensors"},
        Words{"train", "--data", "set", "--stats", "s.safetensors", "--out", "ms.safetensors"},
        Words{"eval", "--model", "m.safetensors", "--data", "set"},
        Words{"export", "--model", "m.safetensors", "--data", "set", "--out", "m.pnrt"},
        Words{"eval", "--model", "m.pnrt", "--data", "set"}, Words{"report", "--run", "run", "--out", "r.html"},
        Words{"data", "inspect", "set"}, Words{"data", "split", "set", "--out", "split.json"},
        Words{"data", "synth", "synth", "--data", "set"}, Words{"data", "convert", "set", "converted"}}) {
    expect_ok(here(words, true));
  }
  const auto converted = here({"data", "inspect", "converted", "--semantics", "att,w2v", "--json"}, false).json();
  EXPECT_TRUE(has_members(converted, {{"unseen_classes", 4}, {"samples", 200}}));
}

TEST_F(LoadFlags, AModelIsEvaluatedOnWhatItWasTrainedOn) {
  ASSERT_EQ(here({"train", "--data", "set", "--run", "run"}, true).exit_code, 0);
  const std::string model = dir.file("run/model.safetensors"), folder = dir.file("set");
  const auto expected = here({"eval", "--model", model, "--data", "set", "--json"}, true).json();
  EXPECT_TRUE(has_members(
      expected,
      {{"features", "clip.npy"}, {"semantics", "att,w2v"}, {"split", "standard: Standard Split (class lists)"}}));
  EXPECT_FALSE(expected.contains("H"));
  // From any folder, without options.
  auto again = run_json({"eval", "--model", model, "--data", folder}, "cd / &&");
  again["model"] = expected["model"];
  EXPECT_EQ(again, expected);
  run_ok({"report", "--run", dir.file("run"), "--out", dir.file("r.html")}, "cd / &&");
  const auto load = json_in(dir / "run/run.json")["load"];
  EXPECT_EQ(load["semantics"], "att," + fs::canonical(dir / "w2v.txt").string());
  EXPECT_EQ(load["split"], "standard");

  // What is given counts more, and a file that is gone is not asked for.
  expect_error(run_cli({"eval", "--model", model, "--data", folder, "--split", folder + "/att_splits.mat"}), 3);
  fs::remove(dir / "w2v.txt");
  run_error({"eval", "--model", model, "--data", folder}, 3);
}

TEST_F(LoadFlags, AbsolutePathsOfFeaturesAndSplitsAreRecorded) {
  fs::rename(dir / "set/clip.npy", dir / "clip.npy");
  fs::rename(dir / "set/standard_split", dir / "lists");
  expect_ok(
      here({"train", "--data", "set", "--out", "m.safetensors", "--features", "clip.npy", "--split", "lists"}, false));
  const std::string model = dir.file("m.safetensors"), folder = dir.file("set");
  const auto again = run_ok({"eval", "--model", model, "--data", folder, "--json"}, "cd / &&");
  EXPECT_EQ(again.json()["features"], "clip.npy");
  EXPECT_EQ(again.json()["split"], "lists: Standard Split (class lists)");
  EXPECT_TRUE(has(again.err, "those of res.mat"));
}

TEST_F(LoadFlags, FeaturesGivenAsInputMayBeOfAnyFormat) {
  ASSERT_EQ(here({"train", "--data", "set", "--out", "m.safetensors"}, true).exit_code, 0);
  test::ArrayFile().add("features", data_.features.view()).write_npz(dir / "clip.npz");
  const auto expected = expect_ok(here({"predict", "--model", "m.safetensors", "--input", "set/clip.npy"}, false));
  for (const char* input : {"clip.npz", "set/res.mat"})
    EXPECT_EQ(here({"predict", "--model", "m.safetensors", "--input", input}, false).out, expected.out) << input;
  const std::string name = data_.class_names[8];
  expect_ok(here(
      {"classes", "teach", name, "--model", "m.safetensors", "--input", "clip.npz", "--out", "t.safetensors"}, false));
  expect_ok(here({"adapt", "--model", "m.safetensors", "--input", "set", "--out", "a.safetensors"}, false));
}

}  // namespace parsnets::test
