#include "data/semantic_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/inspect.hpp"
#include "parsnets/synth.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

using Names = std::vector<std::string>;

/// A data set of two tables, of 3 named and 4 nameless columns.
Dataset two_tables() {
  SynthOptions options;
  options.classes = 8;
  options.attributes = 7;
  options.samples = 80;
  options.dimensions = 5;
  options.hidden = 8;
  Dataset data = synthesize(options);
  data.semantics.name = "att,sent";
  data.semantics.tables = {{"att", 3}, {"sent", 4}};
  data.semantics.attribute_names = {"size", "colour", "tail", "sent 1", "sent 2", "sent 3", "sent 4"};
  return data;
}

void expect_same_semantics(const Semantics& a, const Semantics& b) {
  ASSERT_EQ(a.values.rows(), b.values.rows());
  EXPECT_EQ(a.name, b.name);
  EXPECT_TRUE(std::ranges::equal(a.values.values(), b.values.values()));
  EXPECT_EQ(a.attribute_names, b.attribute_names);
  ASSERT_EQ(a.tables.size(), b.tables.size());
  for (std::size_t t = 0; t < a.tables.size(); ++t) {
    EXPECT_EQ(a.tables[t].name, b.tables[t].name);
    EXPECT_EQ(a.tables[t].columns, b.tables[t].columns);
  }
}

Dataset load(const std::filesystem::path& folder, const std::string& semantics) {
  LoadOptions options;
  options.semantics = semantics;
  return load_dataset(folder, options);
}

std::string refusal(const std::filesystem::path& folder, const std::string& semantics) {
  try {
    load(folder, semantics);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

void write_text(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

}  // namespace

TEST(SemanticTables, EveryFormatReadsBackToTheSameTables) {
  const Dataset data = two_tables();
  for (const auto format : {DataFormat::npy, DataFormat::csv, DataFormat::mat5, DataFormat::mat73}) {
    SCOPED_TRACE(static_cast<int>(format));
    test::TempDir dir;
    save_dataset(data, dir.path(), format);
    const Dataset loaded = load(dir.path(), "att,sent");
    expect_same_semantics(data.semantics, loaded.semantics);
    EXPECT_EQ(loaded.split.trainval, data.split.trainval);
    EXPECT_EQ(inspect_dataset(loaded).attributes, 7u);
    const Dataset other_way = load(dir.path(), "sent,att");
    EXPECT_EQ(other_way.semantics.values(2, 0), data.semantics.values(2, 3));
    EXPECT_EQ(other_way.semantics.tables[1].columns, 3u);
    const Dataset one = load(dir.path(), "sent");
    EXPECT_TRUE(one.semantics.tables.empty());
    EXPECT_EQ(one.semantics.values(2, 0), data.semantics.values(2, 3));
  }
}

TEST(SemanticTables, RowsOfAPlainTableAreMatchedByClass) {
  const Dataset data = two_tables();
  test::TempDir dir;
  save_dataset(data, dir.path(), DataFormat::npy);
  CsvTable table = read_csv(dir / "sent.csv", true);
  std::ranges::reverse(table.rows);
  write_csv(dir / "sent.csv", table);
  expect_same_semantics(data.semantics, load(dir.path(), "att,sent").semantics);
  // Numbers as labels count the rows of attributes.csv, also where another table is read.
  EXPECT_EQ(load(dir.path(), "sent").class_names, data.class_names);

  Matrix<float> numbers(8, 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers.data()[i] = static_cast<float>(i) / 3;
  write_npy(dir / "more.npy", numbers.view());
  const Semantics three = load(dir.path(), "att,more,sent.csv").semantics;
  EXPECT_EQ(three.name, "att,more,sent");
  EXPECT_EQ(three.values(7, 3), numbers(7, 0));
  EXPECT_EQ(three.values(7, 5), data.semantics.values(7, 3));
  EXPECT_EQ(three.attribute_names[4], "more 2");
}

TEST(SemanticTables, ANameOfTwoTablesSaysItsTable) {
  test::TempDir dir;
  save_dataset(two_tables(), dir.path(), DataFormat::npy);
  CsvTable table = read_csv(dir / "sent.csv", true);
  table.header[2] = "tail";
  write_csv(dir / "sent.csv", table);
  EXPECT_EQ(load(dir.path(), "att,sent").semantics.attribute_names,
            (Names{"size", "colour", "att:tail", "sent 1", "sent:tail", "sent 3", "sent 4"}));
  EXPECT_EQ(load(dir.path(), "sent").semantics.attribute_names[1], "tail");
}

TEST(SemanticTables, MissingValuesAreFilledInWithinTheirTable) {
  test::TempDir dir;
  save_dataset(two_tables(), dir.path(), DataFormat::npy);
  CsvTable table = read_csv(dir / "sent.csv", true);
  table.rows[2][1] = "";
  write_csv(dir / "sent.csv", table);
  double sum = 0;
  for (std::size_t r = 0; r < 8; ++r) sum += r == 2 ? 0 : std::stod(table.rows[r][1]);
  const Semantics semantics = load(dir.path(), "att,sent").semantics;
  EXPECT_EQ(semantics.missing, 1u);
  EXPECT_NEAR(semantics.values(2, 3), sum / 7, 1e-5);
}

TEST(SemanticTables, TablesOfOtherClassesAreRefused) {
  for (const auto format : {DataFormat::npy, DataFormat::mat5}) {
    SCOPED_TRACE(static_cast<int>(format));
    Dataset data = two_tables();
    test::TempDir dir, renamed;
    save_dataset(data, dir.path(), format);
    data.class_names[5] = "unicorn";
    save_dataset(data, renamed.path(), format);
    const char* file = format == DataFormat::npy ? "sent.csv" : "sent_splits.mat";
    std::filesystem::copy_file(renamed / file, dir / file, std::filesystem::copy_options::overwrite_existing);
    const std::string message = refusal(dir.path(), "att,sent");
    EXPECT_NE(message.find(file), std::string::npos) << message;
    EXPECT_NE(message.find("none named 'class006'"), std::string::npos) << message;
    EXPECT_NE(refusal(dir.path(), "att,word2vec").find("word2vec"), std::string::npos);
  }
}

TEST(SemanticTables, ListsOfNamesAreChecked) {
  EXPECT_EQ(split_table_names("att"), (Names{"att"}));
  EXPECT_EQ(split_table_names("att,sent,w"), (Names{"att", "sent", "w"}));
  for (const char* bad : {"att,", ",att", "att,,sent", "att,att"}) EXPECT_THROW(split_table_names(bad), Error) << bad;
  test::TempDir dir;
  save_dataset(two_tables(), dir.path(), DataFormat::npy);
  EXPECT_NE(refusal(dir.path(), "att,attributes").find("attributes.csv twice"), std::string::npos);
  write_text(dir / "bad.csv", "class\na\n");
  EXPECT_NE(refusal(dir.path(), "att,bad").find("at least one attribute"), std::string::npos);
  std::filesystem::remove(dir / "attributes.csv");
  Matrix<float> numbers(8, 2, 1.0f);
  write_npy(dir / "more.npy", numbers.view());
  EXPECT_NE(refusal(dir.path(), "more").find("a table that names the classes"), std::string::npos);
  EXPECT_EQ(load(dir.path(), "more,sent").class_names.size(), 8u);
}

}  // namespace parsnets
