#include "experiments/study_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace parsnets::test {

namespace {

using Json = nlohmann::ordered_json;

Json row(const std::string& method, double zsl, double sd, int runs = 2) {
  Json json{{"method", method}, {"runs", Json::array()}};
  for (int i = 0; i < runs; ++i) json["runs"].push_back({{"seed", i + 1}, {"seconds", 2.0 + i}, {"model_bytes", 3e6}});
  if (runs > 0)
    for (const char* metric : {"zsl", "u", "s", "h"}) json["summary"][metric] = {{"mean", zsl}, {"sd", sd}};
  return json;
}

StudySet cub(const std::string& semantics) {
  StudySet set{"CUB " + semantics, {}, {}, {}};
  set.methods = {{"data", "CUB"},           {"semantics", semantics},     {"features", "res50"},
                 {"known_as", "CUB"},       {"proposed_split_of", "CUB"}, {"samples", 11788},
                 {"methods", Json::array()}};
  set.methods["methods"] = {row("ridge", 50, 0.5), row("default", 60, 0.25)};
  return set;
}

const ResultRow* find(const ResultTable& table, const std::string& head) {
  for (const auto& candidate : table.rows)
    if (candidate.heads[0] == head) return &candidate;
  return nullptr;
}

ResultTable zsl_table(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own) {
  const auto tables = study_tables(sets, own);
  EXPECT_EQ(tables[0].name, "zsl");
  return tables[0];
}

CitedRow own_row(const std::string& data, const std::string& semantics, double zsl) {
  return {data, "mine", "", semantics, "", "", zsl, {}, {}, {}, true};
}

}  // namespace

TEST(StudyTables, Table1HasAColumnPerSetKeepsMeansAndSpreadsAndHasPublishedRowsInTheColumnsOfTheirSemantics) {
  const auto table = zsl_table({cub("att"), cub("sent")}, {});
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[1].group, "CUB sent");
  EXPECT_EQ(table.rows[0].heads[0], "ridge");
  EXPECT_DOUBLE_EQ(*table.rows[1].cells[0].mean, 60);
  EXPECT_DOUBLE_EQ(*table.rows[1].cells[0].sd, 0.25);
  EXPECT_NE(table.caption.find("over 2 seeds"), std::string::npos) << table.caption;
  const auto* ale = find(table, "ALE (ResNet-101 frozen)");
  ASSERT_NE(ale, nullptr);
  EXPECT_EQ(ale->source, RowSource::published);
  EXPECT_DOUBLE_EQ(*ale->cells[0].mean, 54.9);
  EXPECT_FALSE(ale->cells[1].mean);
}

TEST(StudyTables, OwnRowsStandBeforePublishedOnesAndBySemantics) {
  const auto table =
      zsl_table({cub("att"), cub("sent")}, {own_row("CUB", "", 55), own_row("cub", "sent", 65), own_row("SUN", "", 1)});
  const auto* mine = find(table, "mine");
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->source, RowSource::own);
  EXPECT_DOUBLE_EQ(*mine->cells[0].mean, 55);
  EXPECT_DOUBLE_EQ(*mine->cells[1].mean, 65);
  EXPECT_EQ(table.rows[2].heads[0], "mine");
}

TEST(StudyTables, ASetOfGeneratedFeaturesHasNoPublishedRowsAndASpreadThatIsNoNumberIsNone) {
  auto set = cub("att");
  set.methods["proposed_split_of"] = set.methods["known_as"] = "";
  set.methods["methods"][0]["summary"]["zsl"]["sd"] = std::nan("");
  const auto table = zsl_table({set}, {});
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_FALSE(table.rows[0].cells[0].sd);
}

TEST(StudyTables, OwnRowsFollowTheirFeaturesWhereThereAreSeveral) {
  auto other = cub("att");
  other.methods["features"] = "clip.npy";
  auto named = own_row("CUB", "att", 55), unnamed = own_row("CUB", "att", 44);
  named.features = "clip";
  unnamed.method = "unnamed";
  const auto table = zsl_table({cub("att"), other}, {named, unnamed, own_row("elsewhere", "", 1)});
  const auto *mine = find(table, "mine (clip)"), *first = find(table, "unnamed");
  ASSERT_NE(mine, nullptr);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(mine->cells[0].mean);
  EXPECT_DOUBLE_EQ(*mine->cells[1].mean, 55);
  EXPECT_DOUBLE_EQ(*first->cells[0].mean, 44);
  EXPECT_FALSE(first->cells[1].mean);
  EXPECT_NE(table.notes.front().find("mine on elsewhere"), std::string::npos) << "rows that are left out are named";
}

TEST(StudyTables, AMethodThatFailedHasEmptyCellsAndANote) {
  auto set = cub("att");
  Json failed = row("dap", 0, 0, 0);
  failed["error"] = "too little data";
  set.methods["methods"].push_back(failed);
  const auto table = zsl_table({set}, {});
  ASSERT_NE(find(table, "dap"), nullptr);
  EXPECT_FALSE(find(table, "dap")->cells[0].mean);
  EXPECT_NE(table.notes.front().find("too little data"), std::string::npos);
}

TEST(StudyTables, TablesWithoutRowsAreLeftOut) {
  std::vector<std::string> names;
  for (const auto& table : study_tables({cub("att")}, {})) names.push_back(table.name);
  EXPECT_EQ(names, (std::vector<std::string>{"zsl", "gzsl", "costs", "intervals", "data"}));
}

TEST(StudyTables, CitedRowsOfOneMethodOnSeveralSetsAreOneRow) {
  auto rows = cited_rows("", "", "CUB", {});
  const auto sun = cited_rows("", "", "SUN", {});
  rows.insert(rows.end(), sun.begin(), sun.end());
  const auto table = cited_table(rows);
  EXPECT_EQ(table.columns.size(), 8u);
  const auto* ale = find(table, "ALE");
  ASSERT_NE(ale, nullptr);
  EXPECT_DOUBLE_EQ(*ale->cells[0].mean, 54.9);
  EXPECT_DOUBLE_EQ(*ale->cells[4].mean, 58.1);
}

}  // namespace parsnets::test
