// Export and what is done with device files, run as a user would.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

/// A model with gates trained on the demo set, made once.
const std::string& exported_model() {
  static TempDir dir;
  static const std::string file = (dir / "demo.safetensors").string();
  if (!std::filesystem::exists(file)) {
    const auto result = run_cli(
        {"train", "--data", kDemo, "--out", file, "--networks", "32", "--encoding", "48", "--active", "6", "--quiet"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  return file;
}

}  // namespace

TEST(CliExport, WritesADeviceFileThatScoresLikeTheModel) {
  TempDir dir;
  const std::string file = (dir / "sub/demo.pnrt").string();
  const auto json = run_cli({"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--rank", "16",
                             "--max-drop", "2", "--json"})
                        .json();
  EXPECT_EQ(json["precision"], "int8");
  EXPECT_EQ(json["rank"], 16);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(file));
  EXPECT_GT(json["validation"]["before"]["zsl"].get<double>(), 85);
  EXPECT_LT(json["work_bytes"].get<int>(), 65536);
  const auto model = run_cli({"eval", "--model", exported_model(), "--data", kDemo, "--json"}).json(),
             device = run_cli({"eval", "--model", file, "--data", kDemo, "--json"}).json();
  EXPECT_NEAR(device["zsl"]["top1_per_class"].get<double>(), model["zsl"]["top1_per_class"].get<double>(), 1.0);
  EXPECT_NEAR(device["gzsl"]["h"].get<double>(), model["gzsl"]["h"].get<double>(), 1.5);
  EXPECT_EQ(run_cli({"info", file}).exit_code, 0);
}

TEST(CliExport, ChoosesUnderABoundAndRefusesALargeDropWithoutTouchingTheFile) {
  TempDir dir;
  const std::string file = (dir / "demo.pnrt").string();
  const auto chosen = run_cli({"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--max-bytes",
                               "40kB", "--max-drop", "5", "--json"})
                          .json();
  EXPECT_LE(chosen["bytes"].get<int>(), 40000);
  EXPECT_GT(chosen["tried"].size(), 1u);
  const auto before = std::filesystem::last_write_time(file);
  const auto refused =
      run_cli({"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--max-drop", "0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("--max-drop"), std::string::npos) << refused.err;
  EXPECT_EQ(std::filesystem::last_write_time(file), before);
}

TEST(CliExport, SaysWhenTheAccuracyWasNotMeasured) {
  TempDir dir;
  const auto result = run_cli({"export", "--model", exported_model(), "--c-header", (dir / "m.h").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("not measured"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(dir / "m.h"));
}

TEST(CliExport, BadInputGetsOneClearError) {
  TempDir dir;
  const std::string out = (dir / "x.pnrt").string();
  EXPECT_EQ(run_cli({"export", "--model", exported_model()}).exit_code, 2);
  EXPECT_EQ(run_cli({"export", "--model", (dir / "none").string(), "--out", out}).exit_code, 3);
  EXPECT_EQ(run_cli({"export", "--model", exported_model(), "--out", out, "--rank", "33"}).exit_code, 2);
  EXPECT_EQ(run_cli({"export", "--model", exported_model(), "--out", out, "--max-bytes", "9kB"}).exit_code, 2);
  EXPECT_EQ(run_cli({"export", "--model", exported_model(), "--out", out, "--max-drop", "1"}).exit_code, 2);
  EXPECT_EQ(run_cli({"export", "--model", exported_model(), "--c-header", (dir / "no-name.h").string()}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(out));
  ASSERT_EQ(run_cli({"export", "--model", exported_model(), "--out", out}).exit_code, 0);
  const auto predict = run_cli({"predict", "--model", out, "--input", kDemo + "/features.npy"});
  EXPECT_EQ(predict.exit_code, 0) << predict.err;
  std::filesystem::resize_file(out, 3000);
  for (const auto& line : {std::vector<std::string>{"eval", "--model", out, "--data", kDemo},
                           std::vector<std::string>{"export", "--model", out, "--bench"}}) {
    const auto result = run_cli(line);
    EXPECT_EQ(result.exit_code, 3) << line[0];
    EXPECT_NE(result.err.find("x.pnrt"), std::string::npos) << result.err;
  }
}

TEST(CliExport, BenchReportsTimesMemoryOperationsAndAChecksum) {
  TempDir dir;
  const std::string a = (dir / "a.pnrt").string(), b = (dir / "b.pnrt").string();
  const auto exported =
      run_cli({"export", "--model", exported_model(), "--out", a, "--bench", "--json"}).json()["bench"];
  ASSERT_EQ(run_cli({"export", "--model", exported_model(), "--out", b, "--precision", "float32"}).exit_code, 0);
  const auto rounded = run_cli({"export", "--model", a, "--bench", "--json"}).json(),
             whole = run_cli({"export", "--model", b, "--bench", "--json"}).json(),
             input = run_cli({"export", "--model", a, "--bench", "--input", kDemo + "/features.npy", "--json"}).json();
  for (const auto& run : {exported, rounded, whole, input}) {
    EXPECT_EQ(run["steady_us"]["samples"].size(), 2000u);
    EXPECT_LE(run["steady_us"]["min"].get<double>(), run["steady_us"]["median"].get<double>());
    EXPECT_GT(run["init_us"].get<double>(), 0);
    EXPECT_GT(run["multiply_adds"].get<int>(), 1000);
    EXPECT_EQ(run["add_classes"]["classes"], 1000);
  }
  EXPECT_EQ(exported["outputs_crc32"], rounded["outputs_crc32"]);
  EXPECT_NE(rounded["outputs_crc32"], whole["outputs_crc32"]);
  EXPECT_NE(rounded["outputs_crc32"], input["outputs_crc32"]);
  const auto table = run_cli({"export", "--model", a, "--bench"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("| median us |"), std::string::npos) << table.out;
  EXPECT_EQ(run_cli({"export", "--model", a, "--bench", "--out", b}).exit_code, 2) << "a device file already";
  EXPECT_EQ(run_cli({"export", "--model", exported_model(), "--out", b, "--input", "x.npy"}).exit_code, 2);
}

}  // namespace parsnets::test
