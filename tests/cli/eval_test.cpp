// What eval says of its data: semantics, splits and broken features.

#include <gtest/gtest.h>

#include <cmath>

#include "cli/run_cli.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"

namespace parsnets::test {

namespace {

/// The demo set as features.mat, att_splits.mat and sent_splits.mat; the latter has one attribute less.
struct MatFolder {
  MatFolder() {
    const std::string few = (dir / "few").string(), few_mat = (dir / "few-mat").string();
    std::filesystem::copy(kDemo, few, std::filesystem::copy_options::recursive);
    CsvTable table = read_csv(few + "/attributes.csv", true);
    table.header.pop_back();
    for (auto& row : table.rows) row.pop_back();
    write_csv(few + "/attributes.csv", table);
    save_xlsa17(load_dataset(few), few_mat);
    save_xlsa17(load_dataset(kDemo), folder);
    std::filesystem::copy(few_mat + "/att_splits.mat", folder + "/sent_splits.mat");
  }

  std::string file(const char* name) const { return (dir / name).string(); }

  TempDir dir;
  const std::string folder = (dir / "demo-mat").string();
};

CliResult train_ridge(const std::string& folder, const std::string& model, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"train", "--data", folder, "--out", model, "--method", "ridge", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_cli(arguments);
}

/// The demo set with a NaN in one sample.
void write_demo_with_nan(const std::string& folder, std::size_t sample) {
  std::filesystem::copy(kDemo, folder, std::filesystem::copy_options::recursive);
  Matrix<float> features = Matrix<float>::copy_of(read_npy_float({kDemo + "/features.npy", ""}).view());
  features(sample, 5) = std::nanf("");
  write_npy(folder + "/features.npy", features.view());
}

}  // namespace

TEST(CliEval, SemanticsThatAreNotTheModelsAreRefusedAndTheModelsOwnAreTheDefault) {
  const MatFolder mat;
  const std::string model = mat.file("m.safetensors");
  ASSERT_EQ(train_ridge(mat.folder, model, {"--semantics", "sent"}).exit_code, 0);
  const auto refused = run_cli({"eval", "--model", model, "--data", mat.folder, "--semantics", "att"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_TRUE(has(refused.err, "'sent'") && has(refused.err, "'att'")) << refused.err;
  const auto own = run_cli({"eval", "--model", model, "--data", mat.folder, "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  EXPECT_EQ(own.json()["semantics"], "sent");
}

TEST(CliEval, TheNameOfTheSemanticsIsTheModelsAlsoAfterConversion) {
  const MatFolder mat;
  const std::string model = mat.file("m.safetensors");
  ASSERT_EQ(train_ridge(mat.folder, model).exit_code, 0);
  const auto result = run_cli({"eval", "--model", model, "--data", kDemo, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["semantics"], "att");
}

TEST(CliEval, SemanticsThatAPlainFolderDoesNotHaveAreRefused) {
  const auto result = run_cli({"data", "inspect", kDemo, "--semantics", "nonsense"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "nonsense") && has(result.err, "attributes.csv")) << result.err;
}

TEST(CliEval, ASplitFileServesAFolderOfMatFiles) {
  const MatFolder mat;
  const std::string split = mat.file("my.json"), model = mat.file("m.safetensors");
  const auto refused = run_cli({"data", "split", mat.folder});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has(refused.err, "--out") && has(refused.err, "--split")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(mat.folder + "/split.json"));
  const auto made = run_cli({"data", "split", mat.folder, "--unseen", "cat,dog,ship", "--out", split});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(has(made.out, "--split " + split)) << made.out;
  const auto trained = train_ridge(mat.folder, model, {"--split", split});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.json()["record"]["data"]["split"]["file"], "my.json");
  const auto figures = run_cli({"eval", "--model", model, "--data", mat.folder, "--split", split, "--json"});
  ASSERT_EQ(figures.exit_code, 0) << figures.err;
  EXPECT_EQ(figures.json()["split"], "my.json");
  EXPECT_EQ(figures.json()["per_class"]["zsl"].size(), 3u);
  EXPECT_EQ(run_cli({"eval", "--model", model, "--data", mat.folder, "--json"}).json(), figures.json());
  EXPECT_EQ(
      run_cli({"eval", "--model", model, "--data", mat.folder, "--split", mat.folder + "/att_splits.mat"}).exit_code, 3)
      << "deer was trained on";
}

TEST(CliEval, ASplitFileMayNumberClassesOrBeASplitsMat) {
  const MatFolder mat;
  const std::string numbers = mat.file("numbers.json"), other = mat.file("other");
  write_text_file(numbers, R"({"unseen_classes": [0, 1, 2, 3]})");
  const auto inspect = [&](const std::string& split) {
    const auto result = run_cli({"data", "inspect", mat.folder, "--split", split, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json();
  };
  EXPECT_EQ(inspect(numbers)["unseen_classes"], 4);
  LoadOptions load;
  load.split = numbers;
  save_xlsa17(load_dataset(mat.folder, load), other);
  const auto json = inspect(other + "/att_splits.mat");
  EXPECT_EQ(json["unseen_classes"], 4);
  EXPECT_EQ(json["split"]["file"], "att_splits.mat");
  write_text_file(numbers, R"({"unseen_classes": [0, 10]})");
  EXPECT_EQ(run_cli({"data", "inspect", mat.folder, "--split", numbers}).exit_code, 3) << "there is no class 10";
}

TEST(CliEval, ValuesThatAreNotFiniteAreNamedByFileAndRow) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(train_ridge(kDemo, model).exit_code, 0);
  const std::string tested = (dir / "tested").string(), trained = (dir / "trained").string(),
                    late = (dir / "late").string();
  write_demo_with_nan(tested, 3);
  write_demo_with_nan(trained, 0);
  write_demo_with_nan(late, 1000);
  const auto expect_row = [](const CliResult& result, const std::string& folder, const std::string& row) {
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_TRUE(has(result.err, folder + "/features.npy") && has(result.err, row)) << result.err;
  };
  expect_row(run_cli({"eval", "--model", model, "--data", tested}), tested, "row 3, column 5");
  expect_row(run_cli({"predict", "--model", model, "--input", late + "/features.npy", "--batch", "64"}), late,
             "row 1000, column 5");
  expect_row(train_ridge(trained, model), trained, "row 0, column 5");
}

TEST(CliEval, FiguresHaveIntervals) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(train_ridge(kDemo, model).exit_code, 0);
  const auto result = run_cli({"eval", "--model", model, "--data", kDemo, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = result.json();
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
  EXPECT_TRUE(has(text, "\n95 % intervals  ZSL ")) << text;
  const auto again = run_cli({"eval", "--model", model, "--data", kDemo, "--json", "--threads", "1", "--seed", "9"});
  EXPECT_EQ(again.json()["intervals"], json["intervals"]) << "the same for any seed and number of threads";
}

TEST(CliEval, TransductiveFiguresStandApart) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), out = (dir / "t.json").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--quiet"}).exit_code, 0);
  const std::string bytes = read_text_file(model);
  for (const std::string protocol : {"unseen", "mixed"}) {
    const auto text = run_cli({"eval", "--model", model, "--data", kDemo, "--transductive", protocol, "--out", out});
    ASSERT_EQ(text.exit_code, 0) << text.err;
    EXPECT_TRUE(has(text.out, "transductive (" + protocol + ") ZSL")) << text.out;
    EXPECT_FALSE(has(text.out, "\nZSL") || has(text.out, "\nGZSL")) << text.out;
    const auto json = nlohmann::json::parse(read_text_file(out));
    for (const char* key : {"zsl", "gzsl", "per_class"}) EXPECT_FALSE(json.contains(key)) << key;
    const auto& figures = json["transductive"];
    EXPECT_EQ(figures["protocol"], protocol);
    EXPECT_EQ(figures["classes_moved"], figures["moves"].size());
    for (const char* key : {"samples", "likelihood_gain", "zsl", "gzsl", "before"})
      EXPECT_TRUE(figures.contains(key)) << key;
  }
  EXPECT_EQ(read_text_file(model), bytes);
}

TEST(CliEval, FewShotPrintsATableWithTheBaseline) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--quiet"}).exit_code, 0);
  const auto run = [&](const std::string& counts, std::vector<std::string> more = {}) {
    std::vector<std::string> command{"eval", "--model", model, "--data", kDemo, "--few-shot", counts};
    command.insert(command.end(), more.begin(), more.end());
    return run_cli(command);
  };
  const auto json = run("2,1", {"--json"}).json();
  EXPECT_FALSE(json.contains("zsl"));
  ASSERT_EQ(json["few_shot"]["rows"].size(), 2u);
  EXPECT_EQ(json["few_shot"]["rows"][0]["examples"], 1);
  EXPECT_GT(json["few_shot"]["rows"][1]["taught"]["mean"], 0);
  EXPECT_GT(json["few_shot"]["rows"][1]["examples_alone"]["mean"], 0);
  EXPECT_EQ(json["few_shot"]["draws"], 20);
  EXPECT_TRUE(has(run("1").out, "examples alone"));
  EXPECT_EQ(run("1,0").exit_code, 2);
  EXPECT_EQ(run("many").exit_code, 2);
  EXPECT_EQ(run("1", {"--transductive", "mixed"}).exit_code, 2);
  EXPECT_EQ(run("1", {"--per-class"}).exit_code, 2);
  EXPECT_EQ(run("100000").exit_code, 3) << "more than there are samples";
}

TEST(CliEval, LearningInTheFieldNeedsAModelOfClassSpace) {
  TempDir dir;
  const std::string ridge = (dir / "ridge.safetensors").string(), model = (dir / "m.safetensors").string(),
                    device = (dir / "m.pnrt").string();
  ASSERT_EQ(train_ridge(kDemo, ridge).exit_code, 0);
  ASSERT_EQ(run_cli({"train", "--data", kDemo, "--out", model, "--quiet"}).exit_code, 0);
  ASSERT_EQ(run_cli({"export", "--model", model, "--out", device, "--quiet"}).exit_code, 0);
  for (const auto& file : {ridge, device})
    for (const auto& [option, value] : {std::pair{"--transductive", "mixed"}, std::pair{"--few-shot", "1"}}) {
      const auto result = run_cli({"eval", "--model", file, "--data", kDemo, option, value});
      EXPECT_EQ(result.exit_code, 2) << result.out;
      EXPECT_TRUE(has(result.err, file == ridge ? "class space" : "device file")) << result.err;
    }
}

TEST(CliEval, CoverageAndReliabilityAreReportedForSeenAndUnseenClassesApart) {
  TempDir dir;
  const std::string model = (dir / "m.safetensors").string(), open = (dir / "open.safetensors").string();
  ASSERT_EQ(train_ridge(kDemo, model).exit_code, 0);
  const std::vector<std::string> words{"eval", "--data", kDemo, "--model"};
  const auto evaluated = [&words](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_cli(more);
  };
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
  const auto refused = evaluated({model, "--coverage", "90%"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has(refused.err, "the model has no prediction sets; calibrate it with 'parsnets calibrate'"));
  ASSERT_EQ(run_cli({"calibrate", "--model", model, "--data", kDemo, "--out", open, "--folds", "2"}).exit_code, 0);
  const auto all = evaluated({open, "--json"}).json()["sets"],
             one = evaluated({open, "--json", "--coverage", "90%"}).json()["sets"];
  ASSERT_EQ(all.size(), 3u);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], all[1]);
  EXPECT_EQ(one[0]["stated"], 90);
  EXPECT_LE(all[0]["seen"]["size"], all[2]["seen"]["size"]);
  const auto text = evaluated({open, "--coverage", "90%"}).out;
  EXPECT_TRUE(has(text, "ECE   seen ")) << text;
  EXPECT_TRUE(has(text, "sets  90 stated: seen ")) << text;
  EXPECT_TRUE(has(text, "(calibrated on validation classes)")) << text;
  EXPECT_EQ(evaluated({open, "--coverage", "90%", "--few-shot", "1"}).exit_code, 2);
}

}  // namespace parsnets::test
