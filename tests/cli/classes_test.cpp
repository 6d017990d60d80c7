// Changes of a model's class bank, run as a user would.

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "cli/run_cli.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/model.hpp"

namespace parsnets::test {

namespace {

std::string demo_model_in(const TempDir& dir) { return train_demo(dir.file("m.safetensors"), kRidge); }

/// A table that gives class `name` the attributes of the demo set's first class.
void write_class_table(const fs::path& file, const std::string& name) {
  const std::string demo = read_text_file(kDemo + "/attributes.csv");
  const auto header_end = demo.find('\n') + 1, row_end = demo.find('\n', header_end);
  const std::string row = demo.substr(header_end, row_end - header_end);
  write_text_file(file, demo.substr(0, header_end) + name + row.substr(row.find(',')) + "\n");
}

}  // namespace

using CliClasses = FolderTest;

TEST_F(CliClasses, TwoProcessesThatChangeOneModelLoseNothing) {
  const std::string model = demo_model_in(dir);
  const auto change = [&](const Words& arguments) { run_ok(arguments); };
  constexpr int kRounds = 50;
  std::set<std::string> expected;
  for (const auto& name : load_model(model).classes.names) expected.insert(name);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> changes;
    for (const char* side : {"left", "right"}) {
      const std::string name = side + std::to_string(round), table = dir.file(side);
      write_class_table(table, name);
      expected.insert(name);
      changes.emplace_back(change, Words{"classes", "add", "--model", model, "--attributes", table});
    }
    if (round > 0) {
      const std::string earlier = "left" + std::to_string(round - 1);
      expected.erase(earlier);
      changes.emplace_back(change, Words{"classes", "remove", "--model", model, "--classes", earlier});
    }
    for (auto& one : changes) one.join();
  }
  const auto names = load_model(model).classes.names;
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
  for (const auto& entry : fs::directory_iterator(dir.path()))
    EXPECT_TRUE(entry.path() == model || entry.path().filename() == "left" || entry.path().filename() == "right")
        << entry.path() << " was left";
}

TEST_F(CliClasses, NoClassIsCalledUnknown) {
  const std::string model = demo_model_in(dir), before = read_text_file(model);
  write_class_table(dir / "t.csv", "unknown");
  run_error({"classes", "add", "--model", model, "--attributes", dir.file("t.csv")}, 3,
            "reserved for samples of no class");
  EXPECT_EQ(read_text_file(model), before);
}

TEST_F(CliClasses, MistypedClassesGetASuggestion) {
  const std::string examples = dir.file("x.csv"), labels = dir.file("y.csv");
  const Matrix<float> features = read_npy_float({kDemo + "/features.npy", ""});
  write_csv(examples, MatrixView<const float>(features.data(), 2, features.cols()));
  write_text_file(labels, "otter\nottter\n");
  write_class_table(dir / "t.csv", "otter");
  const std::string table = dir.file("t.csv");
  const auto says = [&](const Words& words, const std::string& part) {
    run_error(words + Words{"--model", model_of_demo()}, 3, part);
  };
  says({"classes", "teach", "dere", "--input", examples},
       "none of that name; check the names of the model's classes; did you mean 'deer'?");
  says({"classes", "teach", "deer", "--input", kDemo}, "found a folder; extract the features of photographs first");
  says({"classes", "remove", "--classes", "dere"},
       "none of that name; check the names of the model's classes; did you mean 'deer'?");
  says({"adapt", "--input", examples, "--classes", "dere"}, "did you mean 'deer'?");
  says({"classes", "add", "--attributes", table, "--classes", "oter"}, "did you mean 'otter'?");
  says({"classes", "add", "--classes", "otter,owl", "--input", examples, "--labels", labels},
       "y.csv:2: label: expected a class that is added, found 'ottter'; did you mean 'otter'?");
}

TEST_F(CliClasses, AHundredThousandClassesAreAddedInOneGo) {
  const std::string model = demo_model_in(dir), table = dir.file("many.csv");
  write_class_table(table, "x");
  std::string text = read_text_file(table);
  const auto header_end = text.find('\n') + 1;
  const std::string values = text.substr(text.find(',', header_end));
  text.resize(header_end);
  for (int c = 0; c < 100'000; ++c) text += "new" + std::to_string(c) + values;
  write_text_file(table, text);
  EXPECT_EQ(run_json({"classes", "add", "--model", model, "--attributes", table})["classes"], 100'010);
}

}  // namespace parsnets::test
