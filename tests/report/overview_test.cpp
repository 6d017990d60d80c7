#include "report/overview.hpp"

#include <gtest/gtest.h>

namespace parsnets {
namespace {

using Json = nlohmann::ordered_json;

struct Result {
  std::string method;
  Json zsl, h;
};

Json part(const std::string& data, const std::vector<Result>& results, const std::string& features = "res101",
          const std::string& semantics = "att") {
  Json runs = Json::array();
  for (const auto& [method, zsl, h] : results)
    runs.push_back(
        {{"name", method},
         {"summary",
          {{"data", data}, {"features", features}, {"semantics", semantics}, {"split", ""}, {"zsl", zsl}, {"h", h}}}});
  return {{"runs", runs}};
}

TEST(Overview, PartsAreNamedByTheirDataAndWhatTellsThemApart) {
  const std::vector<Result> any{{"a", 1, 1}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(part_names({part("CUB", any), part("SUN", any, "vit", "sent")}), (Names{"CUB", "SUN"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any, "vit"), part("SUN", any)}),
            (Names{"CUB (res101)", "CUB (vit)", "SUN"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any, "vit", "sent")}),
            (Names{"CUB (res101, att)", "CUB (vit, sent)"}));
  EXPECT_EQ(part_names({part("CUB", any), part("CUB", any)}), (Names{"CUB", "CUB #2"})) << "two folders of one name";
}

TEST(Overview, RunsOfOneNameAreOneMethod) {
  const std::vector<Json> parts{part("CUB", {{"a", 60, 50}, {"b", 50, nullptr}}), part("SUN", {{"b", 40, 30}})};
  const Json rows = overview_json(parts, {"CUB", "SUN"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["method"], "a");
  EXPECT_EQ(rows[0]["cells"][0]["zsl"], 60);
  EXPECT_TRUE(rows[0]["cells"][1].is_null()) << "no such run";
  EXPECT_TRUE(rows[1]["cells"][0]["h"].is_null());
  EXPECT_EQ(rows[1]["cells"][1]["h"], 30);
}

TEST(Overview, RanksAreOfMethodsWithResultsOnEveryDataSet) {
  // By H: a is first, first, shares first and second with b, and second; c lacks one data set. By hand:
  // a (1 + 1 + 1.5 + 2) / 4 = 1.375, b (2 + 2 + 1.5 + 1) / 4 = 1.625.
  const std::vector<Json> parts{part("1", {{"b", 1, 40}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("2", {{"b", 1, 40}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("3", {{"b", 1, 50}, {"a", 1, 50}, {"c", 9, 90}}),
                                part("4", {{"b", 1, 60}, {"a", 1, 50}, {"c", 9, nullptr}})};
  const Json ranks = overview_json(parts, {"1", "2", "3", "4"})["ranks"], &h = ranks["h"];
  EXPECT_EQ(h["data_sets"], 4);
  ASSERT_EQ(h["methods"].size(), 2u);
  EXPECT_EQ(h["methods"][0]["method"], "a");
  EXPECT_EQ(h["methods"][0]["best"], 3) << "a tie counts for both";
  EXPECT_DOUBLE_EQ(h["methods"][0]["mean_rank"].get<double>(), 1.375);
  EXPECT_EQ(h["methods"][1]["best"], 2);
  EXPECT_DOUBLE_EQ(h["methods"][1]["mean_rank"].get<double>(), 1.625);
  ASSERT_EQ(ranks["zsl"]["methods"].size(), 3u);
  EXPECT_EQ(ranks["zsl"]["methods"][0]["method"], "c");
  EXPECT_DOUBLE_EQ(ranks["zsl"]["methods"][1]["mean_rank"].get<double>(), 2.5);
}

TEST(Overview, ADataSetWithoutHDoesNotCountInRanksByHAndOneMethodHasNone) {
  const std::vector<Json> parts{part("1", {{"a", 1, 40}, {"b", 2, 50}}),
                                part("2", {{"a", 1, nullptr}, {"b", 2, nullptr}})};
  const Json h = overview_json(parts, {"1", "2"})["ranks"]["h"];
  EXPECT_EQ(h["data_sets"], 1);
  EXPECT_EQ(h["methods"][0]["method"], "b");
  EXPECT_TRUE(overview_json({part("1", {{"a", 1, 2}}), part("2", {{"a", 1, 2}})}, {"1", "2"})["ranks"]["h"].is_null());
}

}  // namespace
}  // namespace parsnets
