#include "data/semantics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.hpp"
#include "csv_table.hpp"
#include "data/tiny_dataset.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Matrix<double> table(std::vector<double> values, std::size_t cols) {
  Matrix<double> m(values.size() / cols, cols);
  std::copy(values.begin(), values.end(), m.data());
  return m;
}

using Names = std::vector<std::string>;

/// A data set of two tables, of 3 named and 4 nameless columns.
Dataset two_tables() {
  Dataset data = synthesize({.classes = 8, .attributes = 7, .samples = 80, .dimensions = 5, .hidden = 8});
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
  EXPECT_EQ(a.tables, b.tables);
}

Dataset load(const std::filesystem::path& folder, const std::string& semantics) {
  return load_dataset(folder, {.semantics = semantics});
}

std::string refusal(const std::filesystem::path& folder, const std::string& semantics,
                    ErrorCode code = ErrorCode::bad_input) {
  return test::error_of([&] { load(folder, semantics); }, code).message();
}

std::pair<Semantics, Names> read(const std::string& text, const Names& classes) {
  test::TempDir dir;
  write_text_file(dir / "w.txt", text);
  std::pair<Semantics, Names> out;
  out.first = read_word_table(dir / "w.txt", classes, out.second, nullptr);
  return out;
}

}  // namespace

TEST(Semantics, MinusOneIsMissingOnAScaleFromZeroTo100AndAValueInSignedTables) {
  auto m = table({0, 50, -1, 100}, 2), sign = table({-1, 1, 1, -1}, 2), embedding = table({-1, 3, -0.5, 2}, 2);
  EXPECT_EQ(mark_missing(m.view()), 1u);
  EXPECT_TRUE(std::isnan(m(1, 0)));
  EXPECT_EQ(mark_missing(sign.view()), 0u);
  EXPECT_EQ(mark_missing(embedding.view()), 0u);
}

TEST(Semantics, PoliciesFillOrRefuse) {
  const auto raw = table({1, 10, kNan, 20, 3, 30}, 2);
  const std::vector<std::string> classes{"a", "b", "c"}, attributes{"p", "q"};
  const auto mean = complete_semantics(raw.view(), MissingPolicy::attribute_mean, "f", "att", classes, attributes);
  EXPECT_EQ(mean.values(1, 0), 2.0f);
  EXPECT_EQ(mean.missing, 1u);
  EXPECT_EQ(complete_semantics(raw.view(), MissingPolicy::zero, "f", "att", classes, attributes).values(1, 0), 0.0f);
  const auto refused =
      test::error_of([&] { complete_semantics(raw.view(), MissingPolicy::refuse, "f", "att", classes, attributes); });
  EXPECT_TRUE(test::contains(refused.what(), "class 'b', attribute 'p'"));
}

TEST(Semantics, AnAttributeNoClassHasAndInfinitiesAreRefused) {
  const std::vector<std::string> classes{"a", "b"}, attributes{"p"};
  for (const auto& raw : {table({kNan, kNan}, 1), table({1, std::numeric_limits<double>::infinity()}, 1)})
    EXPECT_THROW(complete_semantics(raw.view(), MissingPolicy::attribute_mean, "f", "att", classes, attributes), Error);
}

TEST(SemanticTables, EveryFormatReadsBackToTheSameTables) {
  const Dataset data = two_tables();
  for (const std::string format : {"npy", "csv", "mat5", "mat73"}) {
    SCOPED_TRACE(format);
    test::TempDir dir;
    test::save_as(data, dir.path(), format);
    const Dataset loaded = load(dir.path(), "att,sent");
    expect_same_semantics(data.semantics, loaded.semantics);
    EXPECT_EQ(loaded.split.trainval, data.split.trainval);
    const Dataset other_way = load(dir.path(), "sent,att");
    EXPECT_EQ(other_way.semantics.values(2, 0), data.semantics.values(2, 3));
    EXPECT_EQ(other_way.semantics.tables[1].second, 3u);
    const Dataset one = load(dir.path(), "sent");
    EXPECT_TRUE(one.semantics.tables.empty());
    EXPECT_EQ(one.semantics.values(2, 0), data.semantics.values(2, 3));
  }
}

TEST(SemanticTables, RowsOfAPlainTableAreMatchedByClass) {
  const Dataset data = two_tables();
  test::TempDir dir;
  save_dataset(data, dir.path(), DataFormat::npy);
  CsvTable table = test::table_of(read_csv(dir / "sent.csv", true));
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
  CsvTable table = test::table_of(read_csv(dir / "sent.csv", true));
  table.header[2] = "tail";
  write_csv(dir / "sent.csv", table);
  EXPECT_EQ(load(dir.path(), "att,sent").semantics.attribute_names,
            (Names{"size", "colour", "att:tail", "sent 1", "sent:tail", "sent 3", "sent 4"}));
  EXPECT_EQ(load(dir.path(), "sent").semantics.attribute_names[1], "tail");
}

TEST(SemanticTables, MissingValuesAreFilledInWithinTheirTable) {
  test::TempDir dir;
  save_dataset(two_tables(), dir.path(), DataFormat::npy);
  CsvTable table = test::table_of(read_csv(dir / "sent.csv", true));
  table.rows[2][1] = "";
  write_csv(dir / "sent.csv", table);
  double sum = 0;
  for (std::size_t r = 0; r < 8; ++r) sum += r == 2 ? 0 : std::stod(table.rows[r][1]);
  const Semantics semantics = load(dir.path(), "att,sent").semantics;
  EXPECT_EQ(semantics.missing, 1u);
  EXPECT_NEAR(semantics.values(2, 3), sum / 7, 1e-5);
}

TEST(SemanticTables, TablesOfOtherClassesAreRefused) {
  for (const std::string format : {"npy", "mat5"}) {
    SCOPED_TRACE(format);
    Dataset data = two_tables();
    test::TempDir dir, renamed;
    test::save_as(data, dir.path(), format);
    data.class_names[5] = "unicorn";
    test::save_as(data, renamed.path(), format);
    const char* file = format == "npy" ? "sent.csv" : "sent_splits.mat";
    std::filesystem::copy_file(renamed / file, dir / file, std::filesystem::copy_options::overwrite_existing);
    const std::string message = refusal(dir.path(), "att,sent");
    EXPECT_TRUE(test::contains(message, file));
    EXPECT_TRUE(test::contains(message, "none named 'class006'"));
    EXPECT_TRUE(test::contains(refusal(dir.path(), "att,word2vec"), "word2vec"));
  }
}

TEST(SemanticTables, ListsOfNamesAreChecked) {
  EXPECT_EQ(split_table_names("att"), (Names{"att"}));
  EXPECT_EQ(split_table_names("att,sent,w"), (Names{"att", "sent", "w"}));
  for (const char* bad : {"att,", ",att", "att,,sent", "att,att"}) EXPECT_THROW(split_table_names(bad), Error) << bad;
  test::TempDir dir;
  save_dataset(two_tables(), dir.path(), DataFormat::npy);
  EXPECT_TRUE(test::contains(refusal(dir.path(), "att,attributes", ErrorCode::usage), "attributes.csv twice"));
  write_text_file(dir / "bad.csv", "class\na\n");
  EXPECT_TRUE(test::contains(refusal(dir.path(), "att,bad"), "at least one attribute"));
  std::filesystem::remove(dir / "attributes.csv");
  Matrix<float> numbers(8, 2, 1.0f);
  write_npy(dir / "more.npy", numbers.view());
  EXPECT_TRUE(test::contains(refusal(dir.path(), "more"), "a table that names the classes"));
  EXPECT_EQ(load(dir.path(), "more,sent").class_names.size(), 8u);
}

TEST(ClassTableFile, MistakesAreNamedByTheirLine) {
  const test::TempDir dir;
  const auto place_of = [&](const std::string& text) {
    write_text_file(dir / "t.csv", text);
    Dataset data;
    const Error error =
        test::error_of([&] { read_class_table(dir / "t.csv", "t", MissingPolicy::refuse, data, nullptr); });
    return error.parts().file.substr(dir.path().string().size() + 1);
  };
  for (const char* last : {"owl,x", "fox,2", ",2"})
    EXPECT_EQ(place_of(std::string("class,a\nfox,1\n") + last + "\n"), "t.csv:3") << last;
  EXPECT_EQ(place_of("class,a\n\"red\nfox\",1\nowl,x\n"), "t.csv:2") << "a name over two lines";
  EXPECT_EQ(place_of("class,a\nfox,1\n\"owl\x1b[2J\",1\n"), "t.csv:3");
}

TEST(WordTable, AClassIsItsNameOrTheMeanOfItsWords) {
  const Names classes{"Fox",          "polar+bear",    "001.Black_footed_Albatross",
                      "killer-whale", "Humming Bird.", "polar bear cub",
                      "Deer",         "002.Rhino"};
  const auto [semantics, notes] = read(
      "fox 1 2\n"
      "Fox 3 4\n"  // the name as it is comes first
      "polar 1 0\nbear 0 1\nblack 3 0\nalbatross 0 3\nfooted 3 3\n"
      "killer-whale 7 8\n"  // as a whole
      "killer 0 0\nwhale 0 0\n"
      "humming 2 2\nbird 4 -4e-1\n"
      "deer 5 5\nrhino 6 6\n"
      "deer 9 9\n",  // twice: the first counts
      classes);
  ASSERT_EQ(semantics.values.rows(), 8u);
  ASSERT_EQ(semantics.values.cols(), 2u);
  const float expected[][2] = {{3, 4}, {.5f, .5f}, {2, 2}, {7, 8}, {3, .8f}, {.5f, .5f}, {5, 5}, {6, 6}};
  for (std::size_t c = 0; c < 8; ++c)
    for (std::size_t j = 0; j < 2; ++j) EXPECT_FLOAT_EQ(semantics.values(c, j), expected[c][j]) << classes[c];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(test::contains(notes[0], "lacks 1 words, which are left out of the means: 'cub' of 'polar bear cub'"));
}

TEST(WordTable, TheFormatsOfGloveAndWord2vecAreRead) {
  for (const char* text :
       {"a 1 2 3\nb 4 5 6\n", "2 3\na 1 2 3\nb 4 5 6\n", "2 3\r\na 1 2 3 \r\nb 4 5 6 \r\n", "a\t1\t2\t3\nb 4 5 6",
        "\xef\xbb\xbf"
        "a 1 2 3\n\nb 4 5 6\n",
        "a 1 2 3\na b 9 9 9\nb c 7 7 7\nb 4 5 6\n"}) {  // entries of several words
    const auto [semantics, notes] = read(text, {"b", "a"});
    ASSERT_EQ(semantics.values.cols(), 3u) << text;
    EXPECT_EQ(semantics.values(0, 0), 4.0f) << text;
    EXPECT_EQ(semantics.values(1, 2), 3.0f) << text;
    EXPECT_TRUE(notes.empty());
  }
}

TEST(WordTable, LongTablesAreReadInPieces) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "w" + std::to_string(i) + " " + std::to_string(i) + " 1\n";
  ASSERT_GT(text.size(), 3u << 20);
  const auto [semantics, notes] = read(text, {"w299999", "w0", "w150000"});
  EXPECT_EQ(semantics.values(0, 0), 299999.0f);
  EXPECT_EQ(semantics.values(1, 0), 0.0f);
  EXPECT_EQ(semantics.values(2, 0), 150000.0f);
}

TEST(WordTable, WhatIsMissingOrMalformedIsNamed) {
  const struct {
    const char* text;
    Names classes;
    const char* message;
  } cases[] = {
      {"fox 1 2\n", {"fox", "red_panda", "owl"}, "none of 'red_panda', 'owl'"},
      {"fox 1 2\nowl 1\n", {"fox", "owl"}, "w.txt:2"},
      {"fox 1 2\nowl 1 x\n", {"fox", "owl"}, "'x'"},
      {"fox 1 2\nowl 1 nan\n", {"fox", "owl"}, "w.txt:2: vector of 'owl': expected a finite number, found 'nan'"},
      {"fox 1 2\nowl nan 1\n", {"fox", "owl"}, "w.txt:2"},
      {"fox\n", {"fox"}, "a word and its vector"},
  };
  for (const auto& [text, classes, message] : cases)
    EXPECT_TRUE(test::contains(test::error_of([&] { read(text, classes); }).message(), message)) << text;
  EXPECT_NO_THROW(read("fox 1 2\nowl na 1 2\nowl 3 4\n", {"fox", "owl"}));  // "owl na" is an entry of two words
}

TEST(WordTable, TablesByPathJoinThoseOfEitherKindOfFolder) {
  const Dataset data = synthesize({.classes = 8, .attributes = 3, .samples = 80, .dimensions = 4, .hidden = 4});
  test::TempDir elsewhere;
  std::string words, table = "class,x\n";
  Matrix<float> numbers(8, 2);
  for (std::size_t c = 0; c < 8; ++c) {
    words += data.class_names[c] + " 0.5 " + std::to_string(c) + "\n";
    table += data.class_names[7 - c] + "," + std::to_string(7 - c) + "\n";  // in another order
    numbers(c, 1) = static_cast<float>(c);
  }
  write_text_file(elsewhere / "w2v.txt", words);
  write_text_file(elsewhere / "glove.vec", "8 2\n" + words);
  write_text_file(elsewhere / "table.csv", table);
  write_npy(elsewhere / "numbers.npy", numbers.view());
  for (const std::string format : {"npy", "mat5"}) {
    SCOPED_TRACE(format);
    test::TempDir dir;
    test::save_as(data, dir.path(), format);
    for (const char* name : {"w2v.txt", "glove.vec", "table.csv", "numbers.npy"}) {
      const Dataset one = load(dir.path(), elsewhere / name);
      EXPECT_EQ(one.semantics.name, name);
      EXPECT_EQ(one.class_names, data.class_names);
      EXPECT_EQ(one.chosen.semantics, elsewhere / name);
      EXPECT_EQ(one.split.trainval, data.split.trainval);
      for (std::size_t c = 0; c < 8; ++c)
        EXPECT_EQ(one.semantics.values(c, one.semantics.values.cols() - 1), static_cast<float>(c)) << name;
    }
    const std::string three = "att," + (elsewhere / "w2v.txt").string() + "," + (elsewhere / "table.csv").string();
    const Dataset mixed = load(dir.path(), three);
    EXPECT_EQ(mixed.semantics.name, "att,w2v,table");
    ASSERT_EQ(mixed.semantics.values.cols(), 6u);
    EXPECT_EQ(mixed.semantics.values(5, 0), data.semantics.values(5, 0));
    EXPECT_EQ(mixed.semantics.values(5, 4), 5.0f);
    EXPECT_EQ(mixed.semantics.values(5, 5), 5.0f);
    EXPECT_EQ(mixed.chosen.semantics, three);

    // In the folder a name does, with its ending.
    std::filesystem::copy(elsewhere / "w2v.txt", dir / "w2v.txt");
    const Dataset named = load(dir.path(), "w2v.txt,att");
    EXPECT_EQ(named.semantics.name, "w2v,att");
    EXPECT_EQ(named.chosen.semantics, "w2v.txt,att");
    for (const std::string& bad : {"att," + (elsewhere / "none.txt").string(), std::string("att,none.npy"),
                                   "w2v.txt," + (elsewhere / "w2v.txt").string()})  // both would be called w2v
      EXPECT_THROW(load(dir.path(), bad), Error) << bad;
  }
}

}  // namespace parsnets
