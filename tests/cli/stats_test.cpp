#include <gtest/gtest.h>

#include <filesystem>

#include "features/statistics.hpp"
#include "formats/array_files.hpp"
#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"
#include "run_cli.hpp"

namespace parsnets::test {
namespace {

TEST(CliStats, FromFolderToModelAndInfo) {
  const TempDir dir;
  const std::string stats = (dir / "demo.safetensors").string(), model = (dir / "model.safetensors").string();
  const auto made = run_cli({"stats", "--data", kDemo, "--out", stats, "--feature-scaling", "l2", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.json()["samples"], 1536);
  EXPECT_EQ(made.json()["classes"], 8);
  EXPECT_NE(run_cli({"info", stats}).out.find("statistics of 1536 samples"), std::string::npos);
  const auto trained = run_cli({"train", "--stats", stats, "--data", kDemo, "--out", model, "--json"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.json()["record"]["data"]["statistics"][0]["file"], "demo.safetensors");
  EXPECT_EQ(trained.json()["record"]["data"]["statistics"][0]["samples"], 1536);
  const auto tested = run_cli({"eval", "--model", model, "--data", kDemo, "--json"});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
}

TEST(CliStats, FeaturesAreNotNeededToTrain) {
  const TempDir dir;
  const std::string stats = (dir / "s.safetensors").string();
  ASSERT_EQ(run_cli({"stats", "--data", kDemo, "--out", stats}).exit_code, 0);
  for (const bool with_labels : {true, false}) {
    const auto folder = dir / (with_labels ? "labels" : "classes");
    std::filesystem::create_directory(folder);
    for (const auto* file : {"attributes.csv", "split.json"})
      std::filesystem::copy_file(std::filesystem::path(kDemo) / file, folder / file);
    if (with_labels) std::filesystem::copy_file(kDemo + "/labels.npy", folder / "labels.npy");
    const auto trained = run_cli(
        {"train", "--stats", stats, "--data", folder.string(), "--out", (dir / "m.safetensors").string(), "--json"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_EQ(trained.json()["record"]["data"]["split"]["trainval"]["samples"], with_labels ? 1536 : 0);
  }
}

TEST(CliStats, EveryFormatGivesTheSameAndMergingDoublesIt) {
  const TempDir dir;
  const std::string one = (dir / "npy.safetensors").string();
  ASSERT_EQ(run_cli({"stats", "--data", kDemo, "--out", one}).exit_code, 0);
  const Dataset demo = load_dataset(kDemo);
  for (const std::string format : {"npz", "csv", "mat5"}) {
    const auto folder = dir / format;
    test::save_as(demo, folder, format);
    const std::string other = folder.string() + ".safetensors";
    const auto made = run_cli({"stats", "--data", folder.string(), "--out", other});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(read_text_file(one), read_text_file(other));
  }
  const std::string copy = (dir / "copy.safetensors").string(), both = (dir / "both.safetensors").string();
  std::filesystem::copy_file(one, copy);
  ASSERT_EQ(run_cli({"stats", "--stats", one + "," + copy, "--out", both}).exit_code, 0);
  EXPECT_EQ(load_statistics(both).samples(), 2 * load_statistics(one).samples());
}

TEST(CliStats, BadInputIsRefusedAndNothingIsWritten) {
  const TempDir dir;
  const std::string stats = (dir / "s.safetensors").string(), out = (dir / "out.safetensors").string(),
                    other = (dir / "other.safetensors").string();
  ASSERT_EQ(run_cli({"stats", "--data", kDemo, "--out", stats}).exit_code, 0);
  ASSERT_EQ(run_cli({"stats", "--data", kDemo, "--out", other, "--calibrate", "false"}).exit_code, 0);
  const auto refuses = [&](std::vector<std::string> line, int code, const std::string& expected) {
    line.insert(line.end(), {"--out", out});
    const auto result = run_cli(line);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out));
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
