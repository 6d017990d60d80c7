#include "experiments/reproduce.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.hpp"
#include "formats/array_files.hpp"
#include "parsnets/evaluation.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

/// Two small data sets under one root.
struct Root {
  TempDir folder;
  Root() {
    for (const auto& [name, seed] : {std::pair("first", 3), std::pair("second", 4)})
      save_dataset(small_training_set(static_cast<std::uint64_t>(seed)), folder.path() / "data" / name,
                   DataFormat::npy);
  }
  ReproduceOptions options(const std::string& methods, int seeds) const {
    ReproduceOptions o;
    o.root = folder.path() / "data";
    o.out = folder / "out";
    o.methods = methods;
    o.seeds = seeds;
    o.ablation = o.sparsity = o.report = false;
    return o;
  }
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
  const Root root;
  ThreadPool pool(1);
  const Reproduction done = reproduce(root.options("ridge,default", 1), pool);
  ASSERT_EQ(done.tables.front().columns.size(), 2u);
  EXPECT_EQ(done.tables.front().columns[0].group, "first");
  EXPECT_EQ(done.runs, 4u);
  EXPECT_EQ(done.failed, 0u);
  LoadOptions load;
  const Dataset data = load_dataset(root.folder.path() / "data" / "second", load);
  const Model model = train(data, TrainOptions{}, pool);
  EXPECT_DOUBLE_EQ(zsl(done, 1, 1), evaluate(model, data, pool).zsl.top1_per_class);
  for (const char* ending : {".md", ".csv", ".tex", ".json"})
    EXPECT_TRUE(std::filesystem::exists(root.folder.path() / "out" / "tables" / (std::string("zsl") + ending)));
}

TEST(Reproduce, ASecondCallRunsOnlyWhatIsNew) {
  const Root root;
  ThreadPool pool(1);
  reproduce(root.options("ridge", 1), pool);
  Reproduction again = reproduce(root.options("ridge", 1), pool);
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.reused, 2u);
  again = reproduce(root.options("ridge,eszsl", 2), pool);
  EXPECT_EQ(again.runs, 6u);
  EXPECT_EQ(again.reused, 2u);
  again = reproduce(root.options("eszsl", 1), pool);  // rows of other calls stay on file and out of the tables
  EXPECT_EQ(again.runs, 0u);
  EXPECT_EQ(again.tables.front().rows.size(), 1u);
}

TEST(Reproduce, WorkThatWasStoppedGoesOnAndEndsWithTheSameTables) {
  const Root root, other;
  ThreadPool pool(1);
  StopAfter stop(3);
  EXPECT_THROW(reproduce(root.options("ridge,eszsl,sae", 2), pool, &stop), Error);
  const Reproduction resumed = reproduce(root.options("ridge,eszsl,sae", 2), pool);
  EXPECT_GT(resumed.reused, 0u);
  EXPECT_GT(resumed.runs, 0u);
  const Reproduction whole = reproduce(other.options("ridge,eszsl,sae", 2), pool);
  EXPECT_EQ(to_text(resumed.tables[0], TableFormat::csv), to_text(whole.tables[0], TableFormat::csv));
  EXPECT_EQ(to_text(resumed.tables[1], TableFormat::csv), to_text(whole.tables[1], TableFormat::csv));
}

TEST(Reproduce, AConvertedCopyUnderAnotherNameHasTheSameResults) {
  const Root root;
  const Dataset first = load_dataset(root.folder.path() / "data" / "first");
  std::filesystem::remove_all(root.folder.path() / "data" / "second");
  test::save_xlsa17(first, root.folder.path() / "data" / "copy");
  ThreadPool pool(1);
  const Reproduction done = reproduce(root.options("ridge,default", 1), pool);
  ASSERT_EQ(done.tables.front().columns.size(), 2u);
  for (std::size_t row = 0; row < 2; ++row) EXPECT_DOUBLE_EQ(zsl(done, row, 0), zsl(done, row, 1));
}

TEST(Reproduce, ResultsOfOtherDataAreNotTakenOver) {
  const Root root;
  ThreadPool pool(1);
  reproduce(root.options("ridge", 1), pool);
  save_dataset(small_training_set(9), root.folder.path() / "data" / "first", DataFormat::npy);
  try {
    reproduce(root.options("ridge", 1), pool);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("methods.json"), std::string::npos) << error.what();
  }
}

TEST(Reproduce, DamagedResultsAreBadInputNamingTheFile) {
  const Root root;
  ThreadPool pool(1);
  reproduce(root.options("ridge", 1), pool);
  const auto file = root.folder.path() / "out" / "first-features-attributes" / "methods.json";
  const std::string good = read_text_file(file);
  for (const std::string& bad : {std::string("{"), std::string("[1]"), std::string(R"({"methods": [3]})"),
                                 std::string(R"({"methods": [{"method": 1, "runs": []}]})"),
                                 std::string(R"({"methods": [{"method": "ridge", "runs": [{"seed": -1}]}]})")}) {
    write_text_file(file, bad);
    try {
      reproduce(root.options("ridge", 1), pool);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input) << bad;
      EXPECT_NE(std::string(error.what()).find("methods.json"), std::string::npos) << error.what();
    }
  }
  write_text_file(file, good);
  EXPECT_EQ(reproduce(root.options("ridge", 1), pool).runs, 0u);
}

TEST(Reproduce, ADataSetThatCannotBeReadIsSkippedAndTheOthersAreRun) {
  const Root root;
  ThreadPool pool(1);
  std::ofstream(root.folder.path() / "data" / "first" / "features.npy") << "damaged";
  const Reproduction done = reproduce(root.options("ridge", 1), pool);
  EXPECT_EQ(done.runs, 1u);
  ASSERT_EQ(done.skipped.size(), 1u);
  EXPECT_NE(done.skipped[0].find("features.npy"), std::string::npos) << done.skipped[0];
}

TEST(Reproduce, ResultsKeepTheirFolderWhenDataSetsOfTheSameNameAreAdded) {
  const Root root;
  ThreadPool pool(1);
  reproduce(root.options("ridge", 1), pool);
  save_dataset(small_training_set(5), root.folder.path() / "data" / "again" / "first", DataFormat::npy);
  const Reproduction done = reproduce(root.options("ridge", 1), pool);
  EXPECT_EQ(done.runs, 1u);
  EXPECT_EQ(done.reused, 2u);
  ASSERT_EQ(done.tables.front().columns.size(), 3u);
  EXPECT_EQ(done.tables.front().columns[0].group, "again/first");
}

TEST(Reproduce, TheModelsThatAreKeptAreThoseOfTheFirstSeed) {
  const Root root;
  ThreadPool pool(1);
  ReproduceOptions options = root.options("default", 1);
  reproduce(options, pool);
  const auto model = root.folder.path() / "out" / "first-features-attributes" / "default" / "model.safetensors";
  const std::string first = read_text_file(model);
  options.seed = 5;
  reproduce(options, pool);
  EXPECT_NE(read_text_file(model), first);
  options.seed = 1;
  EXPECT_EQ(reproduce(options, pool).runs, 0u);
  EXPECT_EQ(read_text_file(model), first);
}

TEST(Reproduce, TablesOfEarlierOptionsDoNotStay) {
  const Root root;
  ThreadPool pool(1);
  const auto table = root.folder.path() / "out" / "tables" / "comparisons.md";
  reproduce(root.options("ridge,eszsl", 1), pool);
  EXPECT_TRUE(std::filesystem::exists(table));
  reproduce(root.options("ridge", 1), pool);
  EXPECT_FALSE(std::filesystem::exists(table));
}

TEST(Reproduce, TheSweepOfSmallDataIsLeftOutWithAReason) {
  const Root root;
  ThreadPool pool(1);
  SynthOptions small;
  small.classes = 8;
  small.attributes = 10;
  small.samples = 160;
  small.dimensions = small.hidden = 16;
  std::filesystem::remove_all(root.folder.path() / "data");
  save_dataset(synthesize(small), root.folder.path() / "data" / "small", DataFormat::npy);
  ReproduceOptions options = root.options("ridge", 1);
  options.sparsity = true;
  const Reproduction done = reproduce(options, pool);
  EXPECT_EQ(done.failed, 0u);
  ASSERT_EQ(done.skipped.size(), 1u);
  EXPECT_NE(done.skipped[0].find("200 training samples"), std::string::npos) << done.skipped[0];
}

TEST(Reproduce, AMethodThatFailsIsANoteAndTheOthersAreRun) {
  const Root root;
  ThreadPool pool(1);
  const Reproduction done = reproduce(root.options("scln:networks=4:active=100,ridge", 1), pool);
  EXPECT_EQ(done.failed, 2u);
  EXPECT_TRUE(done.tables.front().rows[1].cells[0].mean);
  EXPECT_FALSE(done.tables.front().notes.empty());
}

TEST(Reproduce, PublicDataSetsThatAreNotThereAreNamedWithTheirFiles) {
  const Root root;
  ThreadPool pool(1);
  const Reproduction done = reproduce(root.options("ridge", 1), pool);
  ASSERT_EQ(done.missing.size(), 6u);
  EXPECT_EQ(done.missing[1].data, "AWA2");
  ASSERT_EQ(done.missing[1].files.size(), 2u);
  EXPECT_EQ(done.missing[1].files[1].sha256.size(), 64u);
}

TEST(Reproduce, UnknownMethodsAndEmptyFoldersAreErrorsBeforeAnythingIsWritten) {
  const Root root;
  ThreadPool pool(1);
  for (const char* methods : {"nonsense", "ridge,ridge", "auto:nothing=1", ""})
    EXPECT_THROW(reproduce(root.options(methods, 1), pool), Error) << methods;
  ReproduceOptions empty = root.options("ridge", 1);
  empty.root = root.folder / "none";
  std::filesystem::create_directories(empty.root);
  EXPECT_THROW(reproduce(empty, pool), Error);
  EXPECT_FALSE(std::filesystem::exists(root.folder / "out"));
}

TEST(TimeLeft, NothingIsSaidBeforeTheFirstRun) { EXPECT_FALSE(TimeLeft().of({{"auto", "CUB", 100}})); }

TEST(TimeLeft, TheSameMethodOnTheSameDataIsTheBestGuess) {
  TimeLeft left;
  left.add({"auto", "CUB", 100}, 30);
  left.add({"auto", "CUB", 100}, 50);
  left.add({"auto", "AWA1", 1000}, 7);
  EXPECT_DOUBLE_EQ(*left.of({{"auto", "CUB", 100}, {"auto", "CUB", 100}}), 80);
}

TEST(TimeLeft, OnOtherDataAMethodTakesTimeBySamples) {
  TimeLeft left;
  left.add({"auto", "CUB", 100}, 30);
  EXPECT_DOUBLE_EQ(*left.of({{"auto", "AWA1", 1000}}), 300);
}

TEST(TimeLeft, AMethodThatHasNotRunCountsByItsRoughShare) {
  TimeLeft left;
  left.add({"default", "CUB", 100}, 4);
  EXPECT_GT(*left.of({{"paper", "CUB", 100}}), *left.of({{"ridge", "CUB", 100}}));
  EXPECT_DOUBLE_EQ(*left.of({}), 0);
}

}  // namespace parsnets::test
