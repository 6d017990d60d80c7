#include "eval/reference.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "expect.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

using Texts = std::vector<std::string>;

class OwnRows : public testing::Test {
 protected:
  std::vector<CitedRow> read(const std::string& text, const std::string& name = "rows.csv") {
    write_text_file(dir_ / name, text);
    return read_own_rows(dir_ / name);
  }
  void expect_refusal(const std::string& text, const Texts& words, const std::string& name = "rows.csv") {
    const std::string message = test::error_message([&] { read(text, name); });
    for (const auto& word : words) EXPECT_MENTIONS(message, word);
  }
  test::TempDir dir_;
};

TEST_F(OwnRows, CsvAndJsonGiveTheSameRowsAndTheExampleOfTheDocumentationIsRead) {
  const auto csv = read(
      "Method,DATA,features,zsl,U,S,H,Source,split,semantics\n"
      "\"mine, v2\",cub, ViT-B ,71.25,60,40,,thesis,PS,attributes\n"
      "other,birds,,,,,33.3,,,\n");
  const auto json = read(
      R"([{"method":"mine, v2","data":"cub","features":"ViT-B","ZSL":71.25,"u":60,"s":"40","h":null,"source":"thesis",)"
      R"("split":"PS","semantics":"attributes"},{"Method":"other","data":"birds","H":33.3}])",
      "rows.json");
  for (const auto& rows : {csv, json}) {
    ASSERT_EQ(rows.size(), 2u);
    const CitedRow& first = rows[0];
    EXPECT_EQ((Texts{first.method, first.features, first.semantics, first.split, first.source}),
              (Texts{"mine, v2", "ViT-B", "attributes", "PS", "thesis"}));
    EXPECT_EQ(rows[0].zsl, 71.25);
    EXPECT_DOUBLE_EQ(rows[0].h.value(), 48.0) << "computed: 2 * 60 * 40 / 100";
    EXPECT_EQ(rows[1].data, "birds");
    EXPECT_EQ(rows[1].h, 33.3);
    EXPECT_FALSE(rows[1].zsl || rows[1].u || rows[1].s);
    EXPECT_TRUE(rows[0].own && rows[1].own);
  }
  EXPECT_EQ(read_own_rows(PARSNETS_SOURCE_DIR "/examples/own_rows.csv").size(), 3u);
}

TEST_F(OwnRows, AResultThatTwoRowsGiveIsAnError) {
  EXPECT_EQ(read("method,data,ZSL,U,S\nmine,CUB,50,,\nmine,CUB,,40,60\n").size(), 2u);
  EXPECT_THROW(read("method,data,ZSL\nmine,CUB,50\nmine,CUB,51\n"), Error);
}

TEST_F(OwnRows, HMustBeTheHarmonicMeanOfUAndS) {
  EXPECT_EQ(read("method,data,U,S,H\na,CUB,60,40,48.15\n")[0].h, 48.15);
  EXPECT_EQ(read("method,data,U,S\na,CUB,0,0\n")[0].h, 0.0);
  expect_refusal("method,data,U,S,H\na,CUB,60,40,48\nb,CUB,60,40,48.2\n", {"rows.csv:3", "h:", "48.00", "48.2"});
  expect_refusal(R"([{"method":"a","data":"CUB","U":60,"S":40,"H":50}])", {"rows.json: row 1", "h:", "48.00", "50"},
                 "rows.json");
}

TEST_F(OwnRows, RefusalsNameLineAndField) {
  expect_refusal("method,data,ZSL\na,CUB,50\nb,CUB,101\n", {"rows.csv:3", "zsl:", "percent", "101"});
  expect_refusal("method,data,ZSL\na,CUB,-1\n", {"rows.csv:2", "zsl:"});
  expect_refusal("method,data,ZSL\na,CUB,high\n", {"rows.csv:2", "zsl:", "high"});
  expect_refusal("method,data,ZSL\n\"a\nb\",CUB,1\n,CUB,50\n", {"rows.csv:4", "method:"});
  expect_refusal("method,data,ZSL\na,,50\n", {"rows.csv:2", "data:"});
  expect_refusal("method,data,ZSL,H\na,CUB,,\n", {"rows.csv:2", "at least one of ZSL, U, S, H"});
  expect_refusal("method,data,ZLS\na,CUB,50\n", {"rows.csv:1", "'ZLS'", "did you mean 'zsl'"});
  expect_refusal("method,data,h,H\na,CUB,50,50\n", {"rows.csv:1", "h:", "twice"});
  expect_refusal("method,data,ZSL\n", {"rows.csv", "at least one row"});
  expect_refusal("{}", {"rows.json", "array of objects"}, "rows.json");
  expect_refusal("[1]", {"row 1", "an object"}, "rows.json");
  expect_refusal(R"([{"method":["a"],"data":"CUB","ZSL":1}])", {"row 1", "method:", "array"}, "rows.json");
}

TEST_F(OwnRows, PublishedRowsAreThoseOfTheTable) {
  const auto rows = cited_rows("", "", "cub", {});
  ASSERT_GE(rows.size(), 20u);
  EXPECT_EQ(rows[0].method, "DAP");
  EXPECT_EQ(rows[0].data, "CUB");
  EXPECT_EQ(rows[0].zsl, 40.0);
  EXPECT_EQ(rows[0].h, 3.3);
  EXPECT_TRUE(cited_rows("", "", "birds", {}).empty());
  for (const auto& row : rows) {
    EXPECT_FALSE(row.own);
    EXPECT_EQ(cited_row_json(row)["u"].is_null(), !row.u.has_value());
  }
}

TEST_F(OwnRows, ADataSetGetsTheRowsThatNameIt) {
  const auto own = read("method,data,ZSL\na,cub,1\nb,my_birds,2\nc,SUN,3\n");
  EXPECT_EQ(cited_rows("my_birds", "", "", own).size(), 1u) << "by its folder";
  EXPECT_EQ(cited_rows("my_birds", "CUB", "", own).size(), 2u) << "also as the public data set that it is";
  const auto rows = cited_rows("my_birds", "CUB", "CUB", own);
  EXPECT_EQ(rows.size(), 2u + cited_rows("", "", "CUB", {}).size());
  EXPECT_FALSE(rows.front().own);
  EXPECT_TRUE(rows.back().own);
  EXPECT_EQ(rows.back().method, "b");
}

}  // namespace

}  // namespace parsnets
