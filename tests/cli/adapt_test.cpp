// Learning in the field, run as a user would.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "data/sample_set.hpp"
#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/field.hpp"

namespace parsnets::test {

namespace {

struct DemoModel {
  TempDir dir;
  Dataset data = load_dataset(kDemo, {});
  std::string model = path("m.safetensors"), pile = path("pile.npy");

  DemoModel() {
    fs::copy_file(model_of_demo(), model);
    std::vector<std::int32_t> rows = data.split.test_unseen;
    rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
    write_npy(pile, gather_rows(data.features.view(), rows).view());
  }
  std::string path(const std::string& name) const { return dir.file(name); }
  std::int32_t unseen(std::size_t i) const { return data.unseen_classes()[i]; }
  std::string name(std::int32_t c) const { return data.class_names[static_cast<std::size_t>(c)]; }
  std::string samples_of(std::int32_t label, std::size_t count) const {
    std::vector<std::int32_t> rows;
    for (const auto r : data.split.test_unseen)
      if (data.labels[static_cast<std::size_t>(r)] == label && rows.size() < count) rows.push_back(r);
    const std::string file = path("examples" + std::to_string(label) + ".npy");
    write_npy(file, gather_rows(data.features.view(), rows).view());
    return file;
  }
};

}  // namespace

TEST(CliAdapt, AdaptsInPlaceAndUndoes) {
  DemoModel demo;
  const std::string before = read_text_file(demo.model);
  const auto told = run_json({"adapt", "--model", demo.model, "--input", demo.pile});
  ASSERT_FALSE(told["moves"].empty());
  EXPECT_GT(told["likelihood_gain"], 0);
  EXPECT_GT(told["moves"][0]["degrees"], 0);
  const auto info = run_json({"info", demo.model});
  EXPECT_EQ(info["record"]["adaptations"].size(), 1u);
  EXPECT_EQ(info["record"]["adaptations"][0]["classes"], told["moves"].size());
  EXPECT_TRUE(info["record"].contains("field"));
  EXPECT_EQ(info["field"]["adapted"], true);
  EXPECT_TRUE(has(run_ok({"info", demo.model}).out, "; adapted"));
  const auto evaluated = run_ok({"eval", "--model", demo.model, "--data", kDemo});
  EXPECT_TRUE(has(evaluated.out, "adapted ZSL"));
  EXPECT_TRUE(has(evaluated.out, "not inductive"));
  EXPECT_EQ(run_json({"eval", "--model", demo.model, "--data", kDemo})["learned_since_training"], "adapted");
  run_ok({"adapt", "--model", demo.model, "--undo"});
  EXPECT_EQ(read_text_file(demo.model), before);
  EXPECT_FALSE(run_json({"eval", "--model", demo.model, "--data", kDemo}).contains("learned_since_training"));
}

TEST(CliAdapt, WritesAnotherFileAndReadsFoldersAndBatches) {
  DemoModel demo;
  const std::string before = read_text_file(demo.model), out = demo.path("sub/adapted.safetensors");
  const auto whole = run_json({"adapt", "--model", demo.model, "--input", kDemo, "--out", out});
  EXPECT_EQ(whole["samples"], demo.data.samples());
  EXPECT_EQ(read_text_file(demo.model), before);
  EXPECT_TRUE(is_adapted(load_model(out)));
  const auto batches = run_json({"adapt", "--model", demo.model, "--input", demo.pile, "--out", out, "--batch", "100"});
  EXPECT_EQ(batches["samples"], demo.data.split.test_unseen.size() + demo.data.split.test_seen.size());
  EXPECT_GT(load_model(out).record.adaptations.size(), 1u);
  const auto one = run_json(
      {"adapt", "--model", demo.model, "--input", demo.pile, "--out", out, "--classes", demo.name(demo.unseen(0))});
  EXPECT_LE(one["moves"].size(), 1u);
}

TEST(CliAdapt, SaysThatNothingWasConvincing) {
  DemoModel demo;
  const std::string two = demo.samples_of(demo.unseen(0), 2), before = read_text_file(demo.model);
  EXPECT_TRUE(has(run_ok({"adapt", "--model", demo.model, "--input", two}).out, "no class got convincing support"));
  EXPECT_EQ(read_text_file(demo.model), before);
}

TEST(CliAdapt, BadInputLeavesTheModelAlone) {
  DemoModel demo;
  const std::string before = read_text_file(demo.model), narrow = demo.path("narrow.npy");
  write_npy(narrow, Matrix<float>(4, 3, 1.0f).view());
  for (const Words& arguments :
       std::vector<Words>{{"adapt", "--model", demo.model},
                          {"adapt", "--model", demo.model, "--input", demo.pile, "--undo"},
                          {"adapt", "--model", demo.model, "--input", narrow},
                          {"adapt", "--model", demo.model, "--input", demo.dir.path().string()},
                          {"adapt", "--model", demo.model, "--input", demo.pile, "--classes", "nobody"},
                          {"classes", "teach", "nobody", "--model", demo.model, "--input", demo.pile},
                          {"classes", "teach", demo.name(0), "--model", demo.model},
                          {"classes", "add", "--model", demo.model, "--classes", "a,b", "--input", demo.pile},
                          {"classes", "add", "--model", demo.model, "--classes", "a", "--input", narrow}}) {
    EXPECT_NE(run_cli(arguments).exit_code, 0) << arguments[1];
    EXPECT_EQ(read_text_file(demo.model), before) << arguments[1];
  }
}

using CliClasses = FolderTest;

TEST_F(CliClasses, AreTaughtAndAddedByExamples) {
  DemoModel demo;
  const auto first = demo.unseen(0), second = demo.unseen(1);
  const std::string examples = demo.samples_of(first, 6), others = demo.samples_of(second, 6);
  run_ok({"classes", "teach", demo.name(first), "--model", demo.model, "--input", examples});
  run_ok({"classes", "add", "--model", demo.model, "--classes", "new", "--input", examples});
  // Both at once, told apart by labels.
  const Matrix<float> a = read_npy_float({examples, ""}), b = read_npy_float({others, ""});
  Matrix<float> both(a.rows() + b.rows(), a.cols());
  std::ranges::copy(a.values(), both.data());
  std::ranges::copy(b.values(), both.data() + a.size());
  std::string labels;
  for (std::size_t r = 0; r < both.rows(); ++r) labels += r < a.rows() ? "x\n" : "y\n";
  write_text_file(demo.path("labels.csv"), labels);
  write_npy(demo.path("both.npy"), both.view());
  run_ok({"classes", "add", "--model", demo.model, "--classes", "x,y", "--input", demo.path("both.npy"), "--labels",
          demo.path("labels.csv")});
  const Model model = load_model(demo.model);
  const auto index = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(model.classes.names, name) - model.classes.names.begin());
  };
  for (const auto& name : {demo.name(first), std::string("new"), std::string("x"), std::string("y")})
    EXPECT_EQ(model.classes.taught.samples[index(name)], 6) << name;
  EXPECT_EQ(model.classes.described[index("x")], 0);
  EXPECT_EQ(model.classes.described[index(demo.name(first))], 1);
  EXPECT_TRUE(
      std::ranges::equal(model.classes.taught.sums.row(index("x")), model.classes.taught.sums.row(index("new"))));
  EXPECT_EQ(run_json({"eval", "--model", demo.model, "--data", kDemo})["learned_since_training"], "taught");
}

}  // namespace parsnets::test
