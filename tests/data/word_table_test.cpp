#include "data/word_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/synth.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Read {
  Semantics semantics;
  Names notes;
};

Read read(const std::string& text, const Names& classes) {
  test::TempDir dir;
  write_text_file(dir / "w.txt", text);
  Read out;
  out.semantics = read_word_table(dir / "w.txt", classes, out.notes, nullptr);
  return out;
}

std::string refusal(const std::string& text, const Names& classes) {
  try {
    read(text, classes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "";
}

}  // namespace

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
  EXPECT_NE(notes[0].find("lacks 1 words, which are left out of the means: 'cub' of 'polar bear cub'"),
            std::string::npos)
      << notes[0];
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
  const std::string missing = refusal("fox 1 2\n", {"fox", "red_panda", "owl"});
  EXPECT_NE(missing.find("none of 'red_panda', 'owl'"), std::string::npos) << missing;
  EXPECT_NE(refusal("fox 1 2\nowl 1\n", {"fox", "owl"}).find("w.txt:2"), std::string::npos);
  EXPECT_NE(refusal("fox 1 2\nowl 1 x\n", {"fox", "owl"}).find("'x'"), std::string::npos);
  const std::string nan = refusal("fox 1 2\nowl 1 nan\n", {"fox", "owl"});
  EXPECT_NE(nan.find("w.txt:2: vector of 'owl': expected a finite number, found 'nan'"), std::string::npos) << nan;
  EXPECT_NE(refusal("fox 1 2\nowl nan 1\n", {"fox", "owl"}).find("w.txt:2"), std::string::npos);
  EXPECT_EQ(refusal("fox 1 2\nowl na 1 2\nowl 3 4\n", {"fox", "owl"}), "");  // "owl na" is an entry of two words
  EXPECT_NE(refusal("fox\n", {"fox"}).find("a word and its vector"), std::string::npos);
}

TEST(WordTable, TablesByPathJoinThoseOfEitherKindOfFolder) {
  SynthOptions synth;
  synth.classes = 8;
  synth.samples = 80;
  synth.dimensions = 4;
  synth.hidden = 4;
  synth.attributes = 3;
  const Dataset data = synthesize(synth);
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
  for (const auto format : {DataFormat::npy, DataFormat::mat5}) {
    SCOPED_TRACE(static_cast<int>(format));
    test::TempDir dir;
    save_dataset(data, dir.path(), format);
    LoadOptions options;
    for (const char* name : {"w2v.txt", "glove.vec", "table.csv", "numbers.npy"}) {
      options.semantics = elsewhere / name;
      const Dataset one = load_dataset(dir.path(), options);
      EXPECT_EQ(one.semantics.name, name);
      EXPECT_EQ(one.class_names, data.class_names);
      EXPECT_EQ(one.chosen.semantics, options.semantics);
      EXPECT_EQ(one.split.trainval, data.split.trainval);
      for (std::size_t c = 0; c < 8; ++c)
        EXPECT_EQ(one.semantics.values(c, one.semantics.values.cols() - 1), static_cast<float>(c)) << name;
    }
    options.semantics = "att," + (elsewhere / "w2v.txt").string() + "," + (elsewhere / "table.csv").string();
    const Dataset mixed = load_dataset(dir.path(), options);
    EXPECT_EQ(mixed.semantics.name, "att,w2v,table");
    ASSERT_EQ(mixed.semantics.values.cols(), 6u);
    EXPECT_EQ(mixed.semantics.values(5, 0), data.semantics.values(5, 0));
    EXPECT_EQ(mixed.semantics.values(5, 4), 5.0f);
    EXPECT_EQ(mixed.semantics.values(5, 5), 5.0f);
    EXPECT_EQ(mixed.chosen.semantics, options.semantics);

    // In the folder a name does, with its ending.
    fs::copy(elsewhere / "w2v.txt", dir / "w2v.txt");
    options.semantics = "w2v.txt,att";
    EXPECT_EQ(load_dataset(dir.path(), options).semantics.name, "w2v,att");
    EXPECT_EQ(load_dataset(dir.path(), options).chosen.semantics, "w2v.txt,att");
    for (const std::string& bad : {(elsewhere / "none.txt").string(), std::string("none.npy")}) {
      options.semantics = "att," + bad;
      EXPECT_THROW(load_dataset(dir.path(), options), Error);
    }
    options.semantics = "w2v.txt," + (elsewhere / "w2v.txt").string();  // both would be called w2v
    EXPECT_THROW(load_dataset(dir.path(), options), Error);
  }
}

}  // namespace parsnets
