#include "experiments/reproduce.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.hpp"
#include "expect.hpp"
#include "formats/array_files.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

/// Two small data sets under one root.
struct Root {
  TempDir folder;
  ThreadPool pool{1};
  std::filesystem::path out = folder / "out";

  Root() {
    save("first", small_training_set(3));
    save("second", small_training_set(4));
  }
  std::filesystem::path data(const std::string& name) const { return folder.path() / "data" / name; }
  void save(const std::string& name, const Dataset& set) const { save_dataset(set, data(name), DataFormat::npy); }
  ReproduceOptions options(const std::string& methods, int seeds = 1) const {
    ReproduceOptions o;
    o.root = folder.path() / "data";
    o.out = out;
    o.methods = methods;
    o.seeds = seeds;
    o.ablation = o.sparsity = o.report = false;
    return o;
  }
  Reproduction run(const std::string& methods, int seeds = 1) { return reproduce(options(methods, seeds), pool); }
};

double zsl(const Reproduction& done, std::size_t row, std::size_t column) {
  return done.tables.front().rows[row].cells[column].mean.value();
}

/// Stops the work after so many calls.
class StopAfter : public ProgressObserver {
 public:
  explicit StopAfter(int messages) : left_(messages) {}
  bool on_progress(const ProgressEvent&) override { return left_ > 0; }
  void on_message(std::string_view) override { --left_; }

 private:
  int left_;
};

}  // namespace

TEST(Reproduce, TablesHoldEveryMethodOnEveryDataSetAsTrainAndEvaluateGiveThem) {
  Root root;
  const Reproduction done = root.run("ridge,default");
  ASSERT_EQ(done.tables.front().columns.size(), 2u);
  EXPECT_EQ(done.tables.front().columns[0].group, "first");
  EXPECT_EQ(done.runs, 4u);
  EXPECT_EQ(done.failed, 0u);
  const Dataset data = load_dataset(root.data("second"));
  const Model model = train(data, TrainOptions{}, root.pool);
  EXPECT_DOUBLE_EQ(zsl(done, 1, 1), evaluate(model, data, root.pool).zsl.top1_per_class);
  for (const char* file : {"zsl.md", "zsl.csv", "zsl.tex", "zsl.json"})
    EXPECT_TRUE(std::filesystem::exists(root.out / "tables" / file)) << file;
}

TEST(Reproduce, ASecondCallRunsOnlyWhatIsNew) {
  Root root;
  root.run("ridge");
  Reproduction again = root.run("ridge");
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.reused, 2u);
  const auto comparisons = root.out / "tables" / "comparisons.md";
  again = root.run("ridge,eszsl", 2);
  EXPECT_TRUE(std::filesystem::exists(comparisons));
  EXPECT_EQ(again.runs, 6u);
  EXPECT_EQ(again.reused, 2u);
  again = root.run("eszsl");  // rows of other calls stay on file and out of the tables
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.tables.front().rows.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(comparisons)) << "tables of earlier options do not stay";
}

TEST(Reproduce, WorkThatWasStoppedGoesOnAndEndsWithTheSameTables) {
  Root root, other;
  StopAfter stop(3);
  EXPECT_THROW(reproduce(root.options("ridge,eszsl,sae", 2), root.pool, &stop), Error);
  const Reproduction resumed = root.run("ridge,eszsl,sae", 2);
  EXPECT_GT(resumed.reused, 0u);
  EXPECT_GT(resumed.runs, 0u);
  const Reproduction whole = other.run("ridge,eszsl,sae", 2);
  for (std::size_t t = 0; t < 2; ++t)
    EXPECT_EQ(to_text(resumed.tables[t], TableFormat::csv), to_text(whole.tables[t], TableFormat::csv));
}

TEST(Reproduce, AConvertedCopyUnderAnotherNameHasTheSameResults) {
  Root root;
  std::filesystem::remove_all(root.data("second"));
  test::save_xlsa17(load_dataset(root.data("first")), root.data("copy"));
  const Reproduction done = root.run("ridge,default");
  ASSERT_EQ(done.tables.front().columns.size(), 2u);
  for (std::size_t row = 0; row < 2; ++row) EXPECT_DOUBLE_EQ(zsl(done, row, 0), zsl(done, row, 1));
}

TEST(Reproduce, DamagedResultsAndThoseOfOtherDataAreBadInputNamingTheFile) {
  Root root;
  root.run("ridge");
  const auto file = root.out / "first-features-attributes" / "methods.json";
  const std::string good = read_text_file(file);
  for (const char* bad : {"{", "[1]", R"({"methods": [3]})", R"({"methods": [{"method": 1, "runs": []}]})",
                          R"({"methods": [{"method": "ridge", "runs": [{"seed": -1}]}]})"}) {
    SCOPED_TRACE(bad);
    write_text_file(file, bad);
    expect_error([&] { root.run("ridge"); }, "methods.json");
  }
  write_text_file(file, good);
  EXPECT_EQ(root.run("ridge").runs, 0u);
  root.save("first", small_training_set(9));
  expect_error([&] { root.run("ridge"); }, "methods.json");
}

TEST(Reproduce, ADataSetThatCannotBeReadIsSkippedAndTheOthersAreRun) {
  Root root;
  std::ofstream(root.data("first") / "features.npy") << "damaged";
  const Reproduction done = root.run("ridge");
  EXPECT_EQ(done.runs, 1u);
  ASSERT_EQ(done.skipped.size(), 1u);
  EXPECT_NE(done.skipped[0].find("features.npy"), std::string::npos) << done.skipped[0];
}

TEST(Reproduce, ResultsKeepTheirFolderWhenDataSetsOfTheSameNameAreAdded) {
  Root root;
  root.run("ridge");
  root.save("again/first", small_training_set(5));
  const Reproduction done = root.run("ridge");
  EXPECT_EQ(done.runs, 1u);
  EXPECT_EQ(done.reused, 2u);
  ASSERT_EQ(done.tables.front().columns.size(), 3u);
  EXPECT_EQ(done.tables.front().columns[0].group, "again/first");
}

TEST(Reproduce, TheModelsThatAreKeptAreThoseOfTheFirstSeed) {
  Root root;
  ReproduceOptions other = root.options("default");
  other.seed = 5;
  root.run("default");
  const auto model = root.out / "first-features-attributes" / "default" / "model.safetensors";
  const std::string first = read_text_file(model);
  reproduce(other, root.pool);
  EXPECT_NE(read_text_file(model), first);
  EXPECT_EQ(root.run("default").runs, 0u);
  EXPECT_EQ(read_text_file(model), first);
}

TEST(Reproduce, TheSweepOfSmallDataIsLeftOutWithAReason) {
  Root root;
  std::filesystem::remove_all(root.folder.path() / "data");
  root.save("small", synthesize({.classes = 8, .attributes = 10, .samples = 160, .dimensions = 16, .hidden = 16}));
  ReproduceOptions options = root.options("ridge");
  options.sparsity = true;
  const Reproduction done = reproduce(options, root.pool);
  EXPECT_EQ(done.failed, 0u);
  ASSERT_EQ(done.skipped.size(), 1u);
  EXPECT_NE(done.skipped[0].find("200 training samples"), std::string::npos) << done.skipped[0];
}

TEST(Reproduce, AMethodThatFailsIsANoteAndPublicDataSetsThatAreNotThereAreNamedWithTheirFiles) {
  Root root;
  const Reproduction done = root.run("scln:networks=4:active=100,ridge");
  EXPECT_EQ(done.failed, 2u);
  EXPECT_TRUE(done.tables.front().rows[1].cells[0].mean) << "the others are run";
  EXPECT_FALSE(done.tables.front().notes.empty());
  ASSERT_EQ(done.missing.size(), 6u);
  EXPECT_EQ(done.missing[1].data, "AWA2");
  ASSERT_EQ(done.missing[1].files.size(), 2u);
  EXPECT_EQ(done.missing[1].files[1].sha256.size(), 64u);
}

TEST(Reproduce, UnknownMethodsAndEmptyFoldersAreErrorsBeforeAnythingIsWritten) {
  Root root;
  for (const char* methods : {"nonsense", "ridge,ridge", "auto:nothing=1", ""})
    EXPECT_THROW(root.run(methods), Error) << methods;
  ReproduceOptions empty = root.options("ridge");
  empty.root = root.folder / "none";
  std::filesystem::create_directories(empty.root);
  EXPECT_THROW(reproduce(empty, root.pool), Error);
  EXPECT_FALSE(std::filesystem::exists(root.out));
}

TEST(TimeLeft, IsThatOfTheSameMethodOnTheSameDataThenBySamplesThenByARoughShare) {
  EXPECT_FALSE(time_left({}, {{"auto", "CUB", 100}})) << "before the first run";
  const std::vector<StudyRun> finished{{"auto", "CUB", 100, 30}, {"auto", "CUB", 100, 50}, {"auto", "AWA1", 1000, 7}};
  EXPECT_DOUBLE_EQ(*time_left(finished, {{"auto", "CUB", 100}, {"auto", "CUB", 100}}), 80);
  EXPECT_DOUBLE_EQ(*time_left({{"auto", "CUB", 100, 30}}, {{"auto", "AWA1", 1000}}), 300);
  const std::vector<StudyRun> other{{"default", "CUB", 100, 4}};
  EXPECT_GT(*time_left(other, {{"paper", "CUB", 100}}), *time_left(other, {{"ridge", "CUB", 100}}));
  EXPECT_DOUBLE_EQ(*time_left(other, {}), 0);
}

}  // namespace parsnets::test
