// Export and what is done with device files, run as a user would.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

/// A model with gates trained on the demo set, made once.
const std::string& exported_model() { return model_of_demo({"--networks", "32", "--encoding", "48", "--active", "6"}); }

}  // namespace

using CliExport = FolderTest;

TEST_F(CliExport, WritesADeviceFileThatScoresLikeTheModel) {
  const std::string file = dir.file("sub/demo.pnrt");
  const auto json = run_json(
      {"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--rank", "16", "--max-drop", "2"});
  EXPECT_TRUE(has_members(json, {{"precision", "int8"}, {"rank", 16}, {"bytes", fs::file_size(file)}}));
  EXPECT_GT(json["validation"]["before"]["zsl"].get<double>(), 85);
  EXPECT_LT(json["work_bytes"].get<int>(), 65536);
  const auto model = run_json({"eval", "--model", exported_model(), "--data", kDemo}),
             device = run_json({"eval", "--model", file, "--data", kDemo});
  EXPECT_NEAR(device["zsl"]["top1_per_class"].get<double>(), model["zsl"]["top1_per_class"].get<double>(), 1.0);
  EXPECT_NEAR(device["gzsl"]["h"].get<double>(), model["gzsl"]["h"].get<double>(), 1.5);
  run_ok({"info", file});
}

TEST_F(CliExport, ChoosesUnderABoundAndRefusesALargeDropWithoutTouchingTheFile) {
  const std::string file = dir.file("demo.pnrt");
  const auto chosen = run_json({"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--max-bytes",
                                "40kB", "--max-drop", "5"});
  EXPECT_LE(chosen["bytes"].get<int>(), 40000);
  EXPECT_GT(chosen["tried"].size(), 1u);
  const auto before = fs::last_write_time(file);
  run_error({"export", "--model", exported_model(), "--data", kDemo, "--out", file, "--max-drop", "0"}, 1,
            "--max-drop");
  EXPECT_EQ(fs::last_write_time(file), before);
}

TEST_F(CliExport, SaysWhenTheAccuracyWasNotMeasured) {
  EXPECT_TRUE(has(run_ok({"export", "--model", exported_model(), "--c-header", dir.file("m.h")}).out, "not measured"));
  EXPECT_TRUE(fs::exists(dir / "m.h"));
}

TEST_F(CliExport, BadInputGetsOneClearError) {
  const std::string out = dir.file("x.pnrt");
  run_error({"export", "--model", exported_model()}, 2);
  run_error({"export", "--model", dir.file("none"), "--out", out}, 3);
  run_error({"export", "--model", exported_model(), "--out", out, "--rank", "33"}, 2);
  run_error({"export", "--model", exported_model(), "--out", out, "--max-bytes", "9kB"}, 2);
  run_error({"export", "--model", exported_model(), "--out", out, "--max-drop", "1"}, 2);
  run_error({"export", "--model", exported_model(), "--c-header", dir.file("no-name.h")}, 2);
  EXPECT_FALSE(fs::exists(out));
  run_ok({"export", "--model", exported_model(), "--out", out});
  run_ok({"predict", "--model", out, "--input", kDemo + "/features.npy"});
  fs::resize_file(out, 3000);
  run_error({"eval", "--model", out, "--data", kDemo}, 3, "x.pnrt");
  run_error({"export", "--model", out, "--bench"}, 3, "x.pnrt");
}

TEST_F(CliExport, BenchReportsTimesMemoryOperationsAndAChecksum) {
  const std::string a = dir.file("a.pnrt"), b = dir.file("b.pnrt");
  const auto exported = run_json({"export", "--model", exported_model(), "--out", a, "--bench"})["bench"];
  run_ok({"export", "--model", exported_model(), "--out", b, "--precision", "float32"});
  const auto rounded = run_json({"export", "--model", a, "--bench"}),
             whole = run_json({"export", "--model", b, "--bench"}),
             input = run_json({"export", "--model", a, "--bench", "--input", kDemo + "/features.npy"});
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
  EXPECT_TRUE(has(run_ok({"export", "--model", a, "--bench"}).out, "| median us |"));
  run_error({"export", "--model", a, "--bench", "--out", b}, 2);  // a device file already
  run_error({"export", "--model", exported_model(), "--out", b, "--input", "x.npy"}, 2);
}

}  // namespace parsnets::test
