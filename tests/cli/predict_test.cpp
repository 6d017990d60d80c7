// predict: from files and standard input, with models and device files, to standard output and files.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/interrupted.hpp"
#include "csv_table.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/predictor.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

/// A model and the features of the demo set in both formats, made once.
struct Files {
  TempDir dir;
  std::string model = model_of_demo(kRidge), csv = dir.file("x.csv"), npy = dir.file("x.npy");
  Files() {
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

/// The model with rejection and prediction sets that some of those samples tell apart.
struct Calibrated {
  std::string file = files().dir.file("calibrated.safetensors");
  Model model = load_model(files().model);
  Calibrated() {
    const Matrix<float> x = read_npy_float({files().npy, ""});
    ThreadPool pool(1);
    std::vector<RankedClass> best(x.rows());
    Predictor(model, pool).rank(x.view(), Ranking(model), pool, best);
    std::ranges::nth_element(best, best.begin() + 100, {}, &RankedClass::score);
    model.rejection.false_accept = 0.05;
    model.rejection.thresholds = {best[100].score, best[100].score};
    model.rejection.range[0].fill(-1e6f);
    model.rejection.range[1].fill(1e6f);
    for (auto& weights : model.rejection.weights) weights[0] = 1;
    for (std::uint32_t c = 0; c < model.classes.names.size(); ++c)
      for (int i = 1; model.classes.seen[c] && i <= 40; ++i) {
        model.sets.seen.push_back(static_cast<float>(i) / 45);
        model.sets.seen_classes.push_back(c);
      }
    for (int i = 1; i < 40; ++i) model.sets.unseen.push_back(static_cast<float>(i) / 60);
    save_model(model, file);
  }
};

const Calibrated& calibrated() {
  static const Calibrated made;
  return made;
}

CliResult predict(const Words& options, const std::string& prefix = "") {
  return run_cli(Words{"predict", "--model", files().model, "--top", "2"} + options, prefix);
}

}  // namespace

using CliPredict = FolderTest;

TEST_F(CliPredict, EveryWayInGivesTheSameTable) {
  for (const char* batch : {"1", "64", "1024"}) {
    const auto expected = expect_ok(predict({"--input", files().npy, "--batch", batch}));
    EXPECT_EQ(std::ranges::count(expected.out, '\n'), 300 * 2 + 1);
    EXPECT_TRUE(same_bytes(predict({"--input", files().csv, "--batch", batch}).out, expected.out));
    for (const auto& file : {files().csv, files().npy}) {
      const auto piped = predict({"--input", "-", "--batch", batch}, "cat " + file + " |");
      EXPECT_TRUE(same_bytes(piped.out, expected.out)) << piped.err;
    }
  }
  EXPECT_TRUE(
      same_bytes(predict({"--input", files().csv, "--json"}).out, predict({"--input", files().npy, "--json"}).out));
}

TEST_F(CliPredict, ResultsOfABatchAppearBeforeTheNextIsThere) {
  // The second row is sent only after the first was answered.
  const std::string out = dir.file("answers"), row = "head -n 1 " + files().csv;
  const std::string script =
      "mkfifo rows results; " + shell_quoted(PARSNETS_BINARY) + " predict --top 2 --batch 1 --input - --model " +
      files().model + " < rows > results & exec 3> rows 4< results; " + row +
      " >&3; for i in 1 2 3; do read -r line <&4; echo \"$line\" >> " + out + "; done; grep -c ^0,2 " + out +
      " > seen; " + row + " >&3; exec 3>&-; cat <&4 >> " + out + "; wait $!";
  ASSERT_EQ(std::system(("cd " + dir.path().string() + " && sh -c " + shell_quoted(script)).c_str()), 0);
  EXPECT_EQ(read_text_file(dir / "seen"), "1\n");
  EXPECT_TRUE(has(read_text_file(out), "\n1,2,"));
}

TEST_F(CliPredict, AFileThatBreaksItsReaderIsRefusedInOneLine) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers end the reader in their own way";
#endif
  const std::string file = PARSNETS_SOURCE_DIR "/fuzz/corpus/mat/v73_chunk_too_short.mat";
  const auto refused = run_error({"predict", "--model", files().model, "--input", file}, 3, "breaks its reader (SEGV)");
  EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
}

TEST_F(CliPredict, DeviceFilesAreRecognisedByContent) {
  const std::string device = dir.file("a.model");
  run_ok({"export", "--model", files().model, "--out", device, "--precision", "float32"});
  const auto rows_of = [&](const CliResult& result) {
    write_text_file(dir / "t.csv", result.out);
    return test::table_of(read_csv(dir / "t.csv", true)).rows;
  };
  const auto a = rows_of(predict({"--input", files().npy})),
             b = rows_of(run_ok({"predict", "--model", device, "--top", "2", "--input", files().npy}));
  ASSERT_EQ(a.size(), b.size());
  std::size_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ += a[i][2] != b[i][2];
    EXPECT_NEAR(std::stod(a[i][3]), std::stod(b[i][3]), 2e-3);
  }
  EXPECT_LE(differ, 2u) << "float32 differs by rounding alone";
  const auto unseen = run_json({"predict", "--model", device, "--input", files().npy, "--among", "unseen"});
  EXPECT_EQ(unseen["predictions"][0]["top"].size(), 2u);
}

TEST_F(CliPredict, AFileHasTheFormatOfItsEnding) {
  const std::string csv = dir.file("new/p.csv"), json = dir.file("p.json");
  const auto written = expect_ok(predict({"--input", files().csv, "--out", csv}));
  EXPECT_EQ(written.out, csv + ": 300 samples, 2 of 10 classes each\n");
  EXPECT_TRUE(same_bytes(read_text_file(csv), predict({"--input", files().csv}).out));
  EXPECT_EQ(predict({"--input", files().csv, "--out", json, "--json"}).json()["samples"], 300);
  EXPECT_TRUE(same_bytes(read_text_file(json), predict({"--input", files().csv, "--json"}).out));
}

TEST_F(CliPredict, ErrorsLeaveAnEarlierFileAndNothingElse) {
  fs::create_directory(dir / "out");
  const std::string out = dir.file("out/p.csv"), bad = dir.file("bad.csv");
  write_text_file(out, "earlier");
  write_text_file(bad, read_text_file(files().csv) + "1,2,3\n");
  expect_error(predict({"--input", bad, "--out", out, "--batch", "10"}), 3, "bad.csv:301: expected 192 cells");
  EXPECT_TRUE(same_bytes(read_text_file(out), "earlier"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir / "out"), {}), 1);
  write_text_file(bad, "1,2,3\n");
  EXPECT_TRUE(has(predict({"--input", bad}).err, "expected 192 per sample"));
  EXPECT_EQ(predict({"--input", "-"}, "printf '' |").exit_code, 3);
  expect_error(predict({"--input", "-"}, "printf 'PK\\003\\004rest' |"), 3, "give the file by its name");  // an archive
  EXPECT_EQ(predict({"--input", "-"}, "head -c 500 " + files().npy + " |").exit_code, 3) << "a part of an array";
  EXPECT_EQ(predict({"--input", files().csv, "--out", dir.file("out/p.csv/q.csv")}).exit_code, 3);
}

TEST_F(CliPredict, AnErrorAfterTheFirstPredictionsIsAPartOfTheirObject) {
  const auto result =
      expect_error(predict({"--input", "-", "--json", "--batch", "10"}, "(cat " + files().csv + "; echo 1,2,3) |"), 3);
  EXPECT_EQ(result.json()["predictions"].size(), 300u);
  EXPECT_EQ(result.json()["error"]["code"], 3) << result.out;
  const auto at_once = predict({"--input", "-", "--json"}, "printf '' |").json();
  EXPECT_EQ(at_once["error"]["code"], 3);
  EXPECT_FALSE(at_once.contains("predictions"));
}

TEST_F(CliPredict, CtrlCWhileWaitingForInputEndsWithoutAFile) {
  fs::create_directory(dir / "out");
  const std::string out = dir.file("out/p.csv");
  // A pipe that stays open and empty. Once the temporary file is there, rows are waited for.
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const int code = interrupted_after_a_file({"predict", "--input", "-", "--model", files().model, "--out", out},
                                            dir / "out", IN_CREATE, pipe[0]);
  for (const int end : pipe) ::close(end);
  EXPECT_EQ(code, 130);
  EXPECT_TRUE(fs::is_empty(dir / "out"));
}

TEST_F(CliPredict, RejectedSamplesAreUnknownAndOthersStayAsTheyAre) {
  const Model& model = calibrated().model;
  const auto with = [](const Words& more) {
    return run_cli(Words{"predict", "--model", calibrated().file, "--input", files().npy, "--top", "2"} + more);
  };
  const auto plain = with({"--json"}).json()["predictions"],
             judged = with({"--json", "--reject"}).json()["predictions"];
  const Matrix<float> x = read_npy_float({files().npy, ""});
  ThreadPool pool(1);
  std::vector<RankedClass> best(x.rows());
  std::vector<Evidence> evidence(x.rows());
  Predictor(model, pool).rank(x.view(), Ranking(model), pool, best, evidence);
  std::istringstream csv(with({"--reject"}).out), all(with({}).out);
  std::string line, other;
  std::getline(csv, line);
  std::getline(all, other);
  EXPECT_EQ(line, other + ",why");
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const bool seen = model.classes.seen[static_cast<std::size_t>(best[i].class_index)] != 0,
               is_unknown = model.rejection.is_unknown(evidence[i], seen);
    EXPECT_EQ(judged[i]["unknown"], is_unknown);
    EXPECT_EQ(judged[i]["known_score"].get<float>(), model.rejection.known_score(evidence[i], seen));
    EXPECT_EQ(judged[i]["top"], plain[i]["top"]);
    EXPECT_FALSE(plain[i].contains("unknown"));
    for (int rank = 0; rank < 2; ++rank) {
      std::getline(all, other);
      if (is_unknown && rank > 0) continue;
      std::getline(csv, line);
      const std::string why = is_unknown ? unknown_because(model.rejection, evidence[i], seen) : "";
      EXPECT_EQ(judged[i].value("why", ""), why);
      EXPECT_EQ(line, is_unknown ? std::to_string(i) + ",1,unknown,,\"" + why + "\"" : other + ",");
    }
    unknown += is_unknown;
  }
  EXPECT_FALSE(std::getline(csv, line));
  EXPECT_EQ(unknown, 100u);
}

TEST_F(CliPredict, ACoverageGivesPredictionSets) {
  const Model& model = calibrated().model;
  const Words words{"predict", "--model", calibrated().file, "--input", files().npy, "--json"};
  const auto with = [&words](Words more) { return run_cli(words + more); };
  const auto result = expect_ok(with({"--coverage", "90%"}));
  EXPECT_TRUE(same_bytes(with({"--coverage", "0.9", "--batch", "7", "--threads", "2"}).out, result.out));
  const auto found = result.json();
  EXPECT_EQ(found["coverage"], 0.9);
  const Matrix<float> x = read_npy_float({files().npy, ""});
  ThreadPool pool(1);
  const Matrix<float> scores = model.scores(x.view(), pool);
  const auto thresholds = model.sets.thresholds(0.9, model.classes.seen);
  std::size_t classes = 0;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const auto set = Ranking(model).set(scores.row(i), thresholds);
    const auto& listed = found["predictions"][i]["set"];
    EXPECT_FALSE(found["predictions"][i].contains("top"));
    ASSERT_EQ(listed.size(), set.size());
    for (std::size_t k = 0; k < set.size(); ++k) {
      const auto c = static_cast<std::size_t>(set[k].class_index);
      EXPECT_EQ(listed[k]["class"], model.classes.names[c]);
      EXPECT_EQ(listed[k]["confidence"].get<float>(), set[k].confidence);
      EXPECT_EQ(listed[k]["seen"], model.classes.seen[c] != 0);
    }
    classes += set.size();
  }
  EXPECT_GT(classes, 330u);
  EXPECT_LT(classes, 2700u);
  const auto csv = run_cli({"predict", "--model", calibrated().file, "--input", files().npy, "--coverage", "90%"});
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), static_cast<std::ptrdiff_t>(classes) + 1);
  const auto both = with({"--coverage", "90%", "--reject"}).json()["predictions"],
             judged = with({"--reject"}).json()["predictions"];
  for (std::size_t i = 0; i < x.rows(); ++i) {
    EXPECT_EQ(both[i]["set"], found["predictions"][i]["set"]);
    EXPECT_EQ(both[i]["known_score"], judged[i]["known_score"]);
    EXPECT_EQ(both[i]["unknown"], judged[i]["unknown"]);
  }
  const auto told = with({"--coverage", "90%", "--reject", "--out", dir.file("p.csv")}).json();
  EXPECT_EQ(told["average_size"], static_cast<double>(classes) / 300);
  EXPECT_EQ(told["unknown"], 100);
}

TEST_F(CliPredict, RejectionAndSetsNeedACalibratedModelAndAllClasses) {
  const std::string device = dir.file("a.model"), out = dir.file("p.csv");
  run_ok({"export", "--model", files().model, "--out", device});
  const auto refused = [&](const std::string& model, const Words& options, const char* part) {
    run_error(Words{"predict", "--model", model, "--input", files().npy, "--out", out} + options, 2, part);
    EXPECT_FALSE(fs::exists(out));
  };
  const std::string good = calibrated().file;
  refused(files().model, {"--reject"}, "the model has no rejection; calibrate it with 'parsnets calibrate'");
  refused(files().model, {"--coverage", "90%"},
          "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  refused(device, {"--coverage", "90%"}, "--coverage: expected a model file, found a device file");
  refused(good, {"--coverage", "90%", "--top", "3"}, "--coverage conflicts with --top");
  for (const char* among : {"seen", "unseen"}) {
    refused(good, {"--coverage", "90%", "--among", among}, "--coverage conflicts with --among");
    refused(good, {"--reject", "--among", among}, "--reject conflicts with --among");
  }
  for (const char* bad : {"0", "1", "100%", "90", "x"})
    refused(good, {"--coverage", bad}, "a share above 0 and below 1");
}

TEST_F(CliPredict, AttributesThatDecidedForTheBestClassAreTold) {
  const Model model = load_model(files().model);
  const Matrix<float> x = read_npy_float({files().npy, ""});
  ThreadPool pool(1);
  const auto json =
      predict({"--input", files().npy, "--explain", "3", "--json", "--threads", "2"}).json()["predictions"];
  std::istringstream csv(predict({"--input", files().npy, "--explain", "3"}).out);
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "sample,rank,class,confidence,because");
  for (std::size_t i = 0; i < 20; ++i) {
    const Explanation why = explain(model, x.row(i), pool);
    std::vector<Contribution> speaking;
    for (const Contribution& one : why.attributes)
      if (one.amount > 0) speaking.push_back(one);  // by size already
    speaking.resize(std::min<std::size_t>(speaking.size(), 3));
    EXPECT_EQ(json[i]["runner_up"], model.classes.names[static_cast<std::size_t>(why.runner_up)]);
    EXPECT_EQ(json[i]["runner_up"], json[i]["top"][1]["class"]);
    ASSERT_EQ(json[i]["because"].size(), speaking.size());
    std::string text;
    for (std::size_t k = 0; k < speaking.size(); ++k) {
      const std::string& name = model.attribute_names[speaking[k].index];
      EXPECT_EQ(json[i]["because"][k]["attribute"], name);
      EXPECT_EQ(json[i]["because"][k]["contribution"].get<double>(), speaking[k].amount);
      text += fmt::format("{} {:+.4f}; ", name, speaking[k].amount);
    }
    if (std::abs(why.examples) > 1e-6) text += fmt::format("training samples {:+.4f}; ", why.examples);
    if (why.calibration != 0) text += fmt::format("gamma {:+.4f}; ", why.calibration);
    text.resize(text.size() - 2);
    EXPECT_EQ(json[i]["examples"].get<double>(), why.examples);
    EXPECT_EQ(json[i]["calibration"].get<double>(), why.calibration);
    std::getline(csv, line);
    EXPECT_TRUE(line.ends_with("," + text)) << line;
    std::getline(csv, line);
    EXPECT_EQ(line.back(), ',') << "the second class has no reasons of its own";
  }
}

TEST_F(CliPredict, AnExplanationGoesWithSetsAndVerdicts) {
  const auto found = run_json({"predict", "--model", calibrated().file, "--input", files().npy, "--explain", "2",
                               "--coverage", "90%", "--reject"})["predictions"];
  std::size_t unknown = 0;
  for (const auto& one : found) {
    EXPECT_TRUE(one.contains("set") && one["because"].is_array());
    EXPECT_EQ(one.contains("why"), one["unknown"].get<bool>());
    unknown += one["unknown"].get<bool>();
  }
  EXPECT_EQ(unknown, 100u);
}

TEST_F(CliPredict, WhatCannotBeExplainedIsRefused) {
  const std::string device = dir.file("a.model"), reverse = dir.file("reverse.safetensors");
  run_ok({"export", "--model", files().model, "--out", device});
  train_demo(reverse, {"--method", "reverse-ridge"});
  const auto refused = [&](const std::string& model, const Words& options, const char* part) {
    const Words words{"predict", "--model", model, "--input", files().npy, "--explain", "2"};
    EXPECT_EQ(run_error(words + options, 2, part).out, "");
  };
  refused(device, {}, "--explain: expected a model file, found a device file");
  refused(reverse, {}, "--explain: expected a forward model, found a reverse one");
  refused(files().model, {"--among", "unseen"}, "--explain conflicts with --among");
}

TEST_F(CliPredict, ATableHasAlignedColumnsAndAllThatIsAsked) {
  const auto result = run_ok({"predict", "--model", calibrated().file, "--input", files().npy, "--table", "--top", "3",
                              "--explain", "1", "--reject"});
  std::istringstream lines(result.out);
  std::string line;
  std::getline(lines, line);
  const std::size_t at_class = line.find("class"), end = line.find("confidence") + 10, next = line.find("next classes");
  EXPECT_EQ(line.rfind("sample  class", 0), 0u);
  ASSERT_NE(next, std::string::npos);
  std::size_t samples = 0, unknown = 0, reasons = 0;
  while (std::getline(lines, line) && !line.empty()) {
    if (line[0] == ' ') {
      EXPECT_EQ(line.find_first_not_of(' '), next);
      reasons += line.substr(next, 7) == "because";
      continue;
    }
    EXPECT_EQ(std::stoul(line), samples++);
    EXPECT_NE(line[at_class], ' ');
    const bool is_unknown = line.substr(at_class, 7) == "unknown";
    EXPECT_EQ(line.substr(end - 1, 1), is_unknown ? " " : "%");
    EXPECT_EQ(line.substr(next, 9) == "nearest: ", is_unknown);
    unknown += is_unknown;
  }
  EXPECT_EQ(samples, 300u);
  EXPECT_EQ(unknown, 100u);
  EXPECT_EQ(reasons, 200u);
  EXPECT_TRUE(has(result.out, "\n\n300 samples, 3 of 10 classes each\n100 of the samples are unknown\n"));
  for (const Words& other : {Words{"--json"}, Words{"--out", dir.file("p.csv")}})
    expect_error(predict(other + Words{"--input", files().npy, "--table"}), 2, "--table conflicts with " + other[0]);
}

TEST_F(CliPredict, NeverWritesOverWhatItReads) {
  const std::string copy = dir.file("samples.csv");
  fs::copy_file(files().csv, copy);
  const std::string before = read_text_file(copy);
  expect_error(predict({"--input", copy, "--out", copy}), 2, "--out");
  EXPECT_EQ(read_text_file(copy), before);
  EXPECT_EQ(predict({"--input", files().csv, "--out", dir.file("p.txt")}).exit_code, 2);
}

TEST_F(CliPredict, OnlyTheFileOfTheSumIsRead) {
  const std::string model = model_of_demo(kRidge), device = dir.file("m.pnrt");
  run_ok({"export", "--model", model, "--out", device});
  for (const std::string& file : {model, device}) {
    const std::string sum = sha256_of_file(file);
    EXPECT_EQ(run_json({"info", file})["sha256"], sum);
    EXPECT_TRUE(has(run_ok({"info", file}).out, "SHA-256 " + sum));
    const Words predict{"predict", file, kDemo + "/features.npy", "--top", "1", "--sha256"};
    EXPECT_EQ(run_ok(predict + Words{sum}).out, run_ok({"predict", file, kDemo + "/features.npy", "--top", "1"}).out);
    std::string other = sum;
    other[0] = other[0] == '0' ? '1' : '0';
    const CliResult refused = run_error(predict + Words{other}, 3, "SHA-256: expected " + other + ", found " + sum);
    EXPECT_TRUE(refused.out.empty());
    run_error(predict + Words{sum.substr(1)}, 2, "--sha256: expected 64 hexadecimal digits");
  }
  // What is damaged or foreign is not parsed: the sum is what is told.
  write_text_file(dir / "foreign.safetensors", "not a model at all");
  run_error({"predict", dir.file("foreign.safetensors"), kDemo + "/features.npy", "--sha256", sha256_of_file(model)}, 3,
            "SHA-256");
}

}  // namespace parsnets::test
