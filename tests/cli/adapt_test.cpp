// Learning in the field, run as a user would.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "data/sample_set.hpp"
#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/field.hpp"

namespace parsnets::test {

struct CliAdapt : FolderTest {
  Dataset data = load_dataset(kDemo, {});
  std::string model = path("m.safetensors"), pile = path("pile.npy");

  CliAdapt() {
    fs::copy_file(model_of_demo(), model);
    std::vector<std::int32_t> rows = data.split.test_unseen;
    rows.insert(rows.end(), data.split.test_seen.begin(), data.split.test_seen.end());
    write_npy(pile, gather_rows(data.features.view(), rows).view());
  }
  std::string path(const std::string& name) const { return dir.file(name); }
  std::int32_t unseen(std::size_t i) const { return data.unseen_classes()[i]; }
  std::string class_name(std::int32_t c) const { return data.class_names[static_cast<std::size_t>(c)]; }
  std::string samples_of(std::int32_t label, std::size_t count) const {
    std::vector<std::int32_t> rows;
    for (const auto r : data.split.test_unseen)
      if (data.labels[static_cast<std::size_t>(r)] == label && rows.size() < count) rows.push_back(r);
    const std::string file = path("examples" + std::to_string(label) + ".npy");
    write_npy(file, gather_rows(data.features.view(), rows).view());
    return file;
  }
};

TEST_F(CliAdapt, AdaptsInPlaceAndUndoes) {
  const std::string before = read_text_file(model);
  const auto told = run_json({"adapt", "--model", model, "--input", pile});
  ASSERT_FALSE(told["moves"].empty());
  EXPECT_GT(told["likelihood_gain"], 0);
  EXPECT_GT(told["moves"][0]["degrees"], 0);
  EXPECT_TRUE(told["form"] == "strong" || told["form"] == "careful");
  EXPECT_FALSE(told["because"].get<std::string>().empty());
  const auto info = run_json({"info", model});
  EXPECT_EQ(info["record"]["adaptations"].size(), 1u);
  EXPECT_EQ(info["record"]["adaptations"][0]["classes"], told["moves"].size());
  EXPECT_TRUE(info["record"].contains("field"));
  EXPECT_EQ(info["field"]["adapted"], true);
  EXPECT_TRUE(has(run_ok({"info", model}).out, "; adapted"));
  EXPECT_TRUE(has_all(run_ok({"eval", "--model", model, "--data", kDemo}).out, {"adapted ZSL", "not inductive"}));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", kDemo})["learned_since_training"], "adapted");
  run_ok({"adapt", "--model", model, "--undo"});
  EXPECT_EQ(read_text_file(model), before);
  EXPECT_FALSE(run_json({"eval", "--model", model, "--data", kDemo}).contains("learned_since_training"));
}

TEST_F(CliAdapt, SuggestedSamplesAreTaughtFromTheTableThatAPersonFillsIn) {
  const std::string before = read_text_file(model), answers = path("answers.csv"), taught = path("taught.safetensors");
  const auto told = run_json({"suggest", model, pile, "--top", "4", "-o", answers});
  EXPECT_EQ(read_text_file(model), before);
  const auto& suggestions = told["suggestions"];
  ASSERT_GT(suggestions.size(), 1u);
  std::string filled = "row,file,guess,class\n";
  for (std::size_t i = 0; i < suggestions.size(); ++i) {
    const auto row = suggestions[i]["row"].get<std::size_t>();
    const std::string line = fmt::format("{},,{},", row, suggestions[i]["guess"].get<std::string>());
    EXPECT_TRUE(has(read_text_file(answers), line));
    filled += line + (i == 0 ? "" : class_name(unseen(0))) + "\n";  // the person did not know the first
  }
  const Words teach{"classes", "teach", "--model", model, "--labels", answers, "--input", pile};
  run_error(teach, 3, "fill in");
  write_text_file(answers, filled);
  const std::string done = run_ok(teach + Words{"--out", taught}).out;
  EXPECT_TRUE(has(done, fmt::format("taught {} examples of 1 classes", suggestions.size() - 1))) << done;
  EXPECT_TRUE(is_taught(load_model(taught)));
  EXPECT_EQ(read_text_file(model), before);
  for (const auto& [text, said] : {std::pair("class\ndeer\n", "a column 'row'"),
                                   {"row\n1\n", "a column 'class'"},
                                   {"row,class\n1,nobody\n", "a class of the model"},
                                   {"row,class\n99999,x\n", "a row of --input"},
                                   {"row,class\n1.5,x\n", "a row of"}}) {
    write_text_file(answers, text);
    run_error(teach, 3, said);
  }
  run_error({"classes", "teach", "--model", model, "--input", pile}, 2, "either NAME or --labels");
}

TEST_F(CliAdapt, WritesAnotherFileAndReadsFoldersAndBatches) {
  const std::string before = read_text_file(model), out = path("sub/adapted.safetensors");
  const auto whole = run_json({"adapt", "--model", model, "--input", kDemo, "--out", out});
  EXPECT_EQ(whole["samples"], data.samples());
  EXPECT_EQ(read_text_file(model), before);
  EXPECT_TRUE(is_adapted(load_model(out)));
  const auto batches = run_json({"adapt", "--model", model, "--input", pile, "--out", out, "--batch", "100"});
  EXPECT_EQ(batches["samples"], data.split.test_unseen.size() + data.split.test_seen.size());
  EXPECT_GT(load_model(out).record.adaptations.size(), 1u);
  const auto one =
      run_json({"adapt", "--model", model, "--input", pile, "--out", out, "--classes", class_name(unseen(0))});
  EXPECT_LE(one["moves"].size(), 1u);
}

TEST_F(CliAdapt, SaysThatNothingWasConvincing) {
  const std::string two = samples_of(unseen(0), 2), before = read_text_file(model);
  EXPECT_TRUE(has(run_ok({"adapt", "--model", model, "--input", two}).out, "no class got convincing support"));
  EXPECT_EQ(read_text_file(model), before);
}

TEST_F(CliAdapt, BadInputLeavesTheModelAlone) {
  const std::string before = read_text_file(model), narrow = path("narrow.npy");
  write_npy(narrow, Matrix<float>(4, 3, 1.0f).view());
  for (const Words& arguments :
       std::vector<Words>{{"adapt", "--model", model},
                          {"adapt", "--model", model, "--input", pile, "--undo"},
                          {"adapt", "--model", model, "--input", narrow},
                          {"adapt", "--model", model, "--input", dir.path().string()},
                          {"adapt", "--model", model, "--input", pile, "--classes", "nobody"},
                          {"classes", "teach", "nobody", "--model", model, "--input", pile},
                          {"classes", "teach", class_name(0), "--model", model},
                          {"classes", "add", "--model", model, "--classes", "a,b", "--input", pile},
                          {"classes", "add", "--model", model, "--classes", "a", "--input", narrow}}) {
    EXPECT_NE(run_cli(arguments).exit_code, 0) << arguments[1];
    EXPECT_EQ(read_text_file(model), before) << arguments[1];
  }
}

TEST_F(CliAdapt, ClassesAreTaughtAndAddedByExamples) {
  const auto first = unseen(0), second = unseen(1);
  const std::string examples = samples_of(first, 6), others = samples_of(second, 6);
  run_ok({"classes", "teach", class_name(first), "--model", model, "--input", examples});
  run_ok({"classes", "add", "--model", model, "--classes", "new", "--input", examples});
  // Both at once, told apart by labels.
  const Matrix<float> a = read_npy_float({examples, ""}), b = read_npy_float({others, ""});
  Matrix<float> both(a.rows() + b.rows(), a.cols());
  std::ranges::copy(a.values(), both.data());
  std::ranges::copy(b.values(), both.data() + a.size());
  std::string labels;
  for (std::size_t r = 0; r < both.rows(); ++r) labels += r < a.rows() ? "x\n" : "y\n";
  write_text_file(path("labels.csv"), labels);
  write_npy(path("both.npy"), both.view());
  run_ok({"classes", "add", "--model", model, "--classes", "x,y", "--input", path("both.npy"), "--labels",
          path("labels.csv")});
  const auto classes = load_model(model).classes;
  const auto index = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(classes.names, name) - classes.names.begin());
  };
  for (const auto& name : {class_name(first), std::string("new"), std::string("x"), std::string("y")})
    EXPECT_EQ(classes.taught.samples[index(name)], 6) << name;
  EXPECT_EQ(classes.described[index("x")], 0);
  EXPECT_EQ(classes.described[index(class_name(first))], 1);
  EXPECT_TRUE(std::ranges::equal(classes.taught.sums.row(index("x")), classes.taught.sums.row(index("new"))));
  EXPECT_EQ(run_json({"eval", "--model", model, "--data", kDemo})["learned_since_training"], "taught");
}

}  // namespace parsnets::test
