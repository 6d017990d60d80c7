// What eval says of its data: semantics, splits and broken features.

#include <gtest/gtest.h>

#include <cmath>

#include "cli/run_cli.hpp"
#include "csv_table.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"

namespace parsnets::test {

namespace {

/// The demo set as features.mat, att_splits.mat and sent_splits.mat; the latter has one attribute less.
struct MatFolder {
  MatFolder() {
    const std::string few = dir.file("few"), few_mat = dir.file("few-mat");
    fs::copy(kDemo, few, kRecursive);
    CsvTable table = test::table_of(read_csv(few + "/attributes.csv", true));
    table.header.pop_back();
    for (auto& row : table.rows) row.pop_back();
    write_csv(few + "/attributes.csv", table);
    save_xlsa17(load_dataset(few), few_mat);
    save_xlsa17(load_dataset(kDemo), folder);
    fs::copy(few_mat + "/att_splits.mat", folder + "/sent_splits.mat");
  }

  std::string file(const char* name) const { return dir.file(name); }

  TempDir dir;
  const std::string folder = dir.file("demo-mat");
};

CliResult train_ridge(const std::string& folder, const std::string& model, Words more = {}) {
  return run_cli(Words{"train", "--data", folder, "--out", model, "--method", "ridge", "--json"} + more);
}

/// The demo set with a NaN in one sample.
void write_demo_with_nan(const std::string& folder, std::size_t sample) {
  fs::copy(kDemo, folder, kRecursive);
  Matrix<float> features = Matrix<float>::copy_of(read_npy_float({kDemo + "/features.npy", ""}).view());
  features(sample, 5) = std::nanf("");
  write_npy(folder + "/features.npy", features.view());
}

}  // namespace

using CliEval = FolderTest;

TEST_F(CliEval, SemanticsThatAreNotTheModelsAreRefusedAndTheModelsOwnAreTheDefault) {
  const MatFolder mat;
  const std::string model = mat.file("m.safetensors");
  expect_ok(train_ridge(mat.folder, model, {"--semantics", "sent"}));
  const auto refused = run_error({"eval", "--model", model, "--data", mat.folder, "--semantics", "att"}, 3);
  EXPECT_TRUE(has_all(refused.err, {"'sent'", "'att'"}));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", mat.folder})["semantics"], "sent");
  expect_ok(train_ridge(mat.folder, model));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", kDemo})["semantics"], "att") << "also after conversion";
  const auto none = run_error({"data", "inspect", kDemo, "--semantics", "nonsense"}, 3);
  EXPECT_TRUE(has_all(none.err, {"nonsense", "attributes.csv"}));
}

TEST_F(CliEval, ASplitFileServesAFolderOfMatFiles) {
  const MatFolder mat;
  const std::string split = mat.file("my.json"), model = mat.file("m.safetensors");
  EXPECT_TRUE(has_all(run_error({"data", "split", mat.folder}, 2).err, {"--out", "--split"}));
  EXPECT_FALSE(fs::exists(mat.folder + "/split.json"));
  const auto made = run_ok({"data", "split", mat.folder, "--unseen", "cat,dog,ship", "--out", split});
  EXPECT_TRUE(has(made.out, "--split " + split));
  const auto trained = expect_ok(train_ridge(mat.folder, model, {"--split", split}));
  EXPECT_EQ(trained.json()["record"]["data"]["split"]["file"], "my.json");
  const auto figures = run_json({"eval", "--model", model, "--data", mat.folder, "--split", split});
  EXPECT_EQ(figures["split"], "my.json");
  EXPECT_EQ(figures["per_class"]["zsl"].size(), 3u);
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", mat.folder}), figures);
  // Deer was trained on.
  run_error({"eval", "--model", model, "--data", mat.folder, "--split", mat.folder + "/att_splits.mat"}, 3);
}

TEST_F(CliEval, ASplitFileMayNumberClassesOrBeASplitsMat) {
  const MatFolder mat;
  const std::string numbers = mat.file("numbers.json"), other = mat.file("other");
  write_text_file(numbers, R"({"unseen_classes": [0, 1, 2, 3]})");
  const auto inspect = [&](const std::string& split) {
    return run_json({"data", "inspect", mat.folder, "--split", split});
  };
  EXPECT_EQ(inspect(numbers)["unseen_classes"], 4);
  save_xlsa17(load_dataset(mat.folder, {.split = numbers}), other);
  const auto json = inspect(other + "/att_splits.mat");
  EXPECT_EQ(json["unseen_classes"], 4);
  EXPECT_EQ(json["split"]["file"], "att_splits.mat");
  write_text_file(numbers, R"({"unseen_classes": [0, 10]})");
  run_error({"data", "inspect", mat.folder, "--split", numbers}, 3);  // there is no class 10
}

TEST_F(CliEval, ValuesThatAreNotFiniteAreNamedByFileAndRow) {
  const std::string& model = model_of_demo(kRidge);
  const std::string tested = dir.file("tested"), trained = dir.file("trained"), late = dir.file("late");
  write_demo_with_nan(tested, 3);
  write_demo_with_nan(trained, 0);
  write_demo_with_nan(late, 1000);
  const auto expect_row = [](const CliResult& result, const std::string& folder, const std::string& row) {
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_TRUE(has_all(result.err, {folder + "/features.npy", row}));
  };
  expect_row(run_cli({"eval", "--model", model, "--data", tested}), tested, "row 3, column 5");
  expect_row(run_cli({"predict", "--model", model, "--input", late + "/features.npy", "--batch", "64"}), late,
             "row 1000, column 5");
  expect_row(train_ridge(trained, dir.file("m.safetensors")), trained, "row 0, column 5");
}

TEST_F(CliEval, FiguresHaveIntervals) {
  const std::string& model = model_of_demo(kRidge);
  const auto json = run_json({"eval", "--model", model, "--data", kDemo});
  const std::pair<const char*, double> figures[] = {{"zsl", json["zsl"]["top1_per_class"].get<double>()},
                                                    {"u", json["gzsl"]["u"].get<double>()},
                                                    {"s", json["gzsl"]["s"].get<double>()},
                                                    {"h", json["gzsl"]["h"].get<double>()}};
  for (const auto& [name, figure] : figures) {
    const auto& interval = json["intervals"][name];
    EXPECT_NEAR(interval["estimate"].get<double>(), figure, 1e-9) << name;
    EXPECT_LT(interval["low"].get<double>(), figure) << name;
    EXPECT_GT(interval["high"].get<double>(), figure) << name;
  }
  const auto text = run_cli({"eval", "--model", model, "--data", kDemo}).out;
  EXPECT_TRUE(has(text, "\n95 % intervals  ZSL "));
  const auto again = run_cli({"eval", "--model", model, "--data", kDemo, "--json", "--threads", "1", "--seed", "9"});
  EXPECT_EQ(again.json()["intervals"], json["intervals"]) << "the same for any seed and number of threads";
}

TEST_F(CliEval, TransductiveFiguresStandApart) {
  const std::string &model = model_of_demo(), out = dir.file("t.json"), bytes = read_text_file(model);
  for (const std::string protocol : {"unseen", "mixed"}) {
    const auto text = run_ok({"eval", "--model", model, "--data", kDemo, "--transductive", protocol, "--out", out});
    EXPECT_TRUE(has(text.out, "transductive (" + protocol + ") ZSL"));
    EXPECT_FALSE(has(text.out, "\nZSL") || has(text.out, "\nGZSL")) << text.out;
    const auto json = json_in(out);
    for (const char* key : {"zsl", "gzsl", "per_class"}) EXPECT_FALSE(json.contains(key)) << key;
    const auto& figures = json["transductive"];
    EXPECT_EQ(figures["protocol"], protocol);
    EXPECT_EQ(figures["classes_moved"], figures["moves"].size());
    for (const char* key : {"samples", "likelihood_gain", "zsl", "gzsl", "before"})
      EXPECT_TRUE(figures.contains(key)) << key;
  }
  EXPECT_EQ(read_text_file(model), bytes);
}

TEST_F(CliEval, FewShotPrintsATableWithTheBaseline) {
  const auto run = [](const std::string& counts, Words more = {}) {
    return run_cli(Words{"eval", "--model", model_of_demo(), "--data", kDemo, "--few-shot", counts} + more);
  };
  const auto json = run("2,1", {"--json"}).json();
  EXPECT_FALSE(json.contains("zsl"));
  const auto& rows = json["few_shot"]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["examples"], 1);
  for (const char* figure : {"taught", "examples_alone"}) EXPECT_GT(rows[1][figure]["mean"], 0) << figure;
  EXPECT_EQ(json["few_shot"]["draws"], 20);
  EXPECT_TRUE(has(run("1").out, "examples alone"));
  for (const char* counts : {"1,0", "many"}) EXPECT_EQ(run(counts).exit_code, 2) << counts;
  EXPECT_EQ(run("1", {"--transductive", "mixed"}).exit_code, 2);
  EXPECT_EQ(run("1", {"--per-class"}).exit_code, 2);
  EXPECT_EQ(run("100000").exit_code, 3) << "more than there are samples";
}

TEST_F(CliEval, LearningInTheFieldNeedsAModelOfClassSpace) {
  const std::string &ridge = model_of_demo(kRidge), device = dir.file("m.pnrt");
  run_ok({"export", "--model", model_of_demo(), "--out", device, "--quiet"});
  for (const auto& file : {ridge, device})
    for (const auto& [option, value] : {std::pair{"--transductive", "mixed"}, std::pair{"--few-shot", "1"}})
      run_error({"eval", "--model", file, "--data", kDemo, option, value}, 2,
                file == ridge ? "class space" : "device file");
}

TEST_F(CliEval, CoverageAndReliabilityAreReportedForSeenAndUnseenClassesApart) {
  const std::string &model = model_of_demo(kRidge), open = dir.file("open.safetensors");
  const auto evaluated = [](const Words& more) { return run_cli(Words{"eval", "--data", kDemo, "--model"} + more); };
  const auto plain = evaluated({model, "--json"}).json();
  EXPECT_FALSE(plain.contains("sets"));
  double gaps = 0, samples = 0;
  for (const auto& bin : plain["reliability"]["unseen"]["bins"]) {
    const auto count = bin["samples"].get<double>();
    samples += count;
    if (count > 0) gaps += count * std::abs(bin["accuracy"].get<double>() - bin["confidence"].get<double>());
  }
  EXPECT_EQ(samples, plain["reliability"]["unseen"]["samples"].get<double>());
  EXPECT_NEAR(plain["reliability"]["unseen"]["ece"].get<double>(), gaps / samples, 1e-9);
  expect_error(evaluated({model, "--coverage", "90%"}), 2,
               "the model has no prediction sets; calibrate it with 'parsnets calibrate'");
  run_ok({"calibrate", "--model", model, "--data", kDemo, "--out", open, "--folds", "2"});
  const auto all = evaluated({open, "--json"}).json()["sets"],
             one = evaluated({open, "--json", "--coverage", "90%"}).json()["sets"];
  ASSERT_EQ(all.size(), 3u);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], all[1]);
  EXPECT_EQ(one[0]["stated"], 90);
  EXPECT_LE(all[0]["seen"]["size"], all[2]["seen"]["size"]);
  const auto text = evaluated({open, "--coverage", "90%"}).out;
  EXPECT_TRUE(has_all(text, {"ECE   seen ", "sets  90 stated: seen ", "(calibrated on validation classes)"}));
  EXPECT_EQ(evaluated({open, "--coverage", "90%", "--few-shot", "1"}).exit_code, 2);
}

}  // namespace parsnets::test
