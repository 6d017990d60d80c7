// predict: from files and standard input, with models and device files, to standard output and files.

#include <gtest/gtest.h>

#include "cli/interrupted.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

const std::string kDemo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo";

/// A model and the features of the demo set in both formats, made once.
struct Files {
  TempDir dir;
  std::string model = (dir / "m.safetensors").string(), csv = (dir / "x.csv").string(), npy = (dir / "x.npy").string();
  Files() {
    EXPECT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--method", "ridge", "--quiet"}).exit_code, 0);
    const Matrix<float> features = read_npy_float({kDemo + "/features.npy", ""});
    const MatrixView<const float> some(features.data(), 300, features.cols());
    write_csv(csv, some);
    write_npy(npy, some);
  }
};

const Files& files() {
  static const Files made;
  return made;
}

CliResult predict(std::vector<std::string> options, const std::string& prefix = "") {
  options.insert(options.begin(), {"predict", "--model", files().model, "--top", "2"});
  return run_cli(options, prefix);
}

}  // namespace

TEST(CliPredict, EveryWayInGivesTheSameTable) {
  for (const char* batch : {"1", "64", "1024"}) {
    const auto expected = predict({"--input", files().npy, "--batch", batch});
    ASSERT_EQ(expected.exit_code, 0) << expected.err;
    EXPECT_EQ(std::count(expected.out.begin(), expected.out.end(), '\n'), 300 * 2 + 1);
    EXPECT_TRUE(same_bytes(predict({"--input", files().csv, "--batch", batch}).out, expected.out));
    for (const auto& file : {files().csv, files().npy}) {
      const auto piped = predict({"--input", "-", "--batch", batch}, "cat " + file + " |");
      EXPECT_TRUE(same_bytes(piped.out, expected.out)) << piped.err;
    }
  }
  EXPECT_TRUE(
      same_bytes(predict({"--input", files().csv, "--json"}).out, predict({"--input", files().npy, "--json"}).out));
}

TEST(CliPredict, ResultsOfABatchAppearBeforeTheNextIsThere) {
  // The second row is sent only after the first was answered.
  TempDir dir;
  const std::string out = (dir / "answers").string(), row = "head -n 1 " + files().csv;
  const std::string script =
      "mkfifo rows results; " + shell_quoted(PARSNETS_BINARY) + " predict --top 2 --batch 1 --input - --model " +
      files().model + " < rows > results & exec 3> rows 4< results; " + row +
      " >&3; for i in 1 2 3; do read -r line <&4; echo \"$line\" >> " + out + "; done; grep -c ^0,2 " + out +
      " > seen; " + row + " >&3; exec 3>&-; cat <&4 >> " + out + "; wait $!";
  ASSERT_EQ(std::system(("cd " + dir.path().string() + " && sh -c " + shell_quoted(script)).c_str()), 0);
  EXPECT_EQ(read_text_file(dir / "seen"), "1\n");
  EXPECT_NE(read_text_file(out).find("\n1,2,"), std::string::npos);
}

TEST(CliPredict, DeviceFilesAreRecognisedByContent) {
  TempDir dir;
  const std::string device = (dir / "a.model").string();
  ASSERT_EQ(run_cli({"export", "--model", files().model, "--out", device, "--precision", "float32"}).exit_code, 0);
  const auto expected = predict({"--input", files().npy});
  const auto found = run_cli({"predict", "--model", device, "--top", "2", "--input", files().npy});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const std::vector<std::vector<std::string>> a = [&] {
    write_text_file(dir / "a.csv", expected.out);
    return read_csv(dir / "a.csv", true).rows;
  }();
  write_text_file(dir / "b.csv", found.out);
  const auto b = read_csv(dir / "b.csv", true).rows;
  ASSERT_EQ(a.size(), b.size());
  std::size_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ += a[i][2] != b[i][2];
    EXPECT_NEAR(std::stod(a[i][3]), std::stod(b[i][3]), 2e-3);
  }
  EXPECT_LE(differ, 2u) << "float32 differs by rounding alone";
  EXPECT_EQ(run_cli({"predict", "--model", device, "--input", files().npy, "--among", "unseen", "--json"})
                .json()["predictions"][0]["top"]
                .size(),
            2u);
}

TEST(CliPredict, AFileHasTheFormatOfItsEnding) {
  TempDir dir;
  const std::string csv = (dir / "new/p.csv").string(), json = (dir / "p.json").string();
  const auto written = predict({"--input", files().csv, "--out", csv});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, csv + ": 300 samples, 2 of 10 classes each\n");
  EXPECT_TRUE(same_bytes(read_text_file(csv), predict({"--input", files().csv}).out));
  const auto told = predict({"--input", files().csv, "--out", json, "--json"}).json();
  EXPECT_EQ(told["samples"], 300);
  EXPECT_TRUE(same_bytes(read_text_file(json), predict({"--input", files().csv, "--json"}).out));
}

TEST(CliPredict, ErrorsLeaveAnEarlierFileAndNothingElse) {
  TempDir dir;
  std::filesystem::create_directory(dir / "out");
  const std::string out = (dir / "out/p.csv").string(), bad = (dir / "bad.csv").string();
  write_text_file(out, "earlier");
  write_text_file(bad, read_text_file(files().csv) + "1,2,3\n");
  const auto result = predict({"--input", bad, "--out", out, "--batch", "10"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("bad.csv:301: expected 192 cells"), std::string::npos) << result.err;
  EXPECT_TRUE(same_bytes(read_text_file(out), "earlier"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "out"), {}), 1);
  write_text_file(bad, "1,2,3\n");
  EXPECT_NE(predict({"--input", bad}).err.find("expected 192 per sample"), std::string::npos);
  EXPECT_EQ(predict({"--input", "-"}, "printf '' |").exit_code, 3);
  EXPECT_EQ(predict({"--input", "-"}, "head -c 500 " + files().npy + " |").exit_code, 3) << "a part of an array";
  EXPECT_EQ(predict({"--input", files().csv, "--out", (dir / "out/p.csv/q.csv").string()}).exit_code, 3);
}

TEST(CliPredict, CtrlCWhileWaitingForInputEndsWithoutAFile) {
  TempDir dir;
  std::filesystem::create_directory(dir / "out");
  const std::string out = (dir / "out/p.csv").string();
  // A pipe that stays open and empty. Once the temporary file is there, rows are waited for.
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const int code = interrupted_after_a_file({"predict", "--input", "-", "--model", files().model, "--out", out},
                                            dir / "out", IN_CREATE, pipe[0]);
  for (const int end : pipe) ::close(end);
  EXPECT_EQ(code, 130);
  EXPECT_TRUE(std::filesystem::is_empty(dir / "out"));
}

TEST(CliPredict, AnArchiveOnStandardInputIsToldApartFromRows) {
  TempDir dir;
  write_text_file(dir / "x.npz", std::string("PK\x03\x04", 4) + "rest");
  const auto result =
      run_cli({"predict", "--model", files().model, "--input", "-"}, "cat " + (dir / "x.npz").string() + " |");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("give the file by its name"), std::string::npos) << result.err;
}

TEST(CliPredict, NeverWritesOverWhatItReads) {
  TempDir dir;
  const std::string copy = (dir / "samples.csv").string();
  std::filesystem::copy_file(files().csv, copy);
  const std::string before = read_text_file(copy);
  const auto result = predict({"--input", copy, "--out", copy});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--out"), std::string::npos) << result.err;
  EXPECT_EQ(read_text_file(copy), before);
  EXPECT_EQ(predict({"--input", files().csv, "--out", (dir / "p.txt").string()}).exit_code, 2);
}

}  // namespace parsnets::test
