#include <gtest/gtest.h>

#include <filesystem>

#include "features/statistics.hpp"
#include "formats/array_files.hpp"
#include "parsnets/dataset.hpp"
#include "run_cli.hpp"

namespace parsnets::test {
namespace {

using CliStats = FolderTest;

TEST_F(CliStats, FromFolderToModelAndInfo) {
  const std::string stats = dir.file("demo.safetensors"), model = dir.file("model.safetensors");
  EXPECT_TRUE(has_members(run_json({"stats", "--data", kDemo, "--out", stats, "--feature-scaling", "l2"}),
                          {{"samples", 1536}, {"classes", 8}}));
  EXPECT_TRUE(has(run_cli({"info", stats}).out, "statistics of 1536 samples"));
  const auto trained = run_json({"train", "--stats", stats, "--data", kDemo, "--out", model});
  EXPECT_TRUE(
      has_members(trained["record"]["data"]["statistics"][0], {{"file", "demo.safetensors"}, {"samples", 1536}}));
  run_ok({"eval", "--model", model, "--data", kDemo, "--json"});
}

TEST_F(CliStats, FeaturesAreNotNeededToTrain) {
  const std::string stats = dir.file("s.safetensors");
  run_ok({"stats", "--data", kDemo, "--out", stats});
  for (const bool with_labels : {true, false}) {
    const auto folder = dir / (with_labels ? "labels" : "classes");
    fs::create_directory(folder);
    for (const auto* file : {"attributes.csv", "split.json"}) fs::copy_file(fs::path(kDemo) / file, folder / file);
    if (with_labels) fs::copy_file(kDemo + "/labels.npy", folder / "labels.npy");
    const auto trained =
        run_ok({"train", "--stats", stats, "--data", folder.string(), "--out", dir.file("m.safetensors"), "--json"});
    EXPECT_EQ(trained.json()["record"]["data"]["split"]["trainval"]["samples"], with_labels ? 1536 : 0);
  }
}

TEST_F(CliStats, EveryFormatGivesTheSameAndMergingDoublesIt) {
  const std::string one = dir.file("npy.safetensors");
  run_ok({"stats", "--data", kDemo, "--out", one});
  const Dataset demo = load_dataset(kDemo);
  for (const std::string format : {"npz", "csv", "mat5"}) {
    const auto folder = dir / format;
    test::save_as(demo, folder, format);
    const std::string other = folder.string() + ".safetensors";
    run_ok({"stats", "--data", folder.string(), "--out", other});
    EXPECT_EQ(read_text_file(one), read_text_file(other));
  }
  const std::string copy = dir.file("copy.safetensors"), both = dir.file("both.safetensors");
  fs::copy_file(one, copy);
  run_ok({"stats", "--stats", one + "," + copy, "--out", both});
  EXPECT_EQ(load_statistics(both).samples(), 2 * load_statistics(one).samples());
}

TEST_F(CliStats, BadInputIsRefusedAndNothingIsWritten) {
  const std::string stats = dir.file("s.safetensors"), out = dir.file("out.safetensors"),
                    other = dir.file("other.safetensors");
  run_ok({"stats", "--data", kDemo, "--out", stats});
  run_ok({"stats", "--data", kDemo, "--out", other, "--calibrate", "false"});
  const auto refuses = [&](const Words& line, int code, const std::string& expected) {
    run_error(line + Words{"--out", out}, code, expected);
    EXPECT_FALSE(fs::exists(out));
  };
  refuses({"stats"}, 2, "--data DIR or --stats");
  refuses({"stats", "--data", kDemo, "--stats", stats}, 2, "--data DIR or --stats");
  refuses({"stats", "--data", kDemo, "--feature-scaling", "standardize"}, 2, "feature-scaling");
  refuses({"stats", "--data", kDemo, "--memory-limit", "1MB"}, 2, "--memory-limit");
  refuses({"stats", "--stats", stats + ",," + other}, 2, "separated by commas");
  refuses({"stats", "--stats", stats, "--calibrate", "false"}, 2, "--stats conflicts with --calibrate");
  refuses({"stats", "--stats", stats + "," + other}, 3, "other.safetensors: groups: expected 4");
  refuses({"stats", "--stats", stats + "," + kDemo + "/features.npy"}, 3, "features.npy");
  refuses({"train", "--data", kDemo, "--stats", stats, "--search", "grid"}, 2, "--search");
  refuses({"train", "--data", kDemo, "--stats", stats, "--method", "ridge"}, 2, "--method");
  const auto broken = dir / "broken";
  Dataset demo = load_dataset(kDemo);
  demo.features = Matrix<float>::copy_of(demo.features.view());
  demo.features(static_cast<std::size_t>(demo.split.trainval[5]), 3) = std::nanf("");
  save_dataset(demo, broken, DataFormat::npy);
  refuses({"stats", "--data", broken.string()}, 3, "row " + std::to_string(demo.split.trainval[5]) + ", column 3");
}

}  // namespace
}  // namespace parsnets::test
