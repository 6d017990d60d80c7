#include "eval/open_set_json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace parsnets {

TEST(OpenSetJson, HasPercentAndNullWhereThereIsNoFigure) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  OpenSetEvaluation result;
  result.turns = {{"deer", "truck"}};
  result.known_seen = {200, 4, 90, {91, 2, 88, 94}};
  result.known_unseen = {0, 0, 0, {nan, nan, nan, nan}};
  result.unknown = {50, 1, 4, {4, nan, nan, nan}};
  result.known_right = 81;
  result.by_known_score = {95, 20, 78, {}, {}};
  result.by_confidence = {70, 60, 50, {}, {}};
  result.no_class = {{"zero", "all features 0", 1, 100, 99}};
  Rejection rejection;
  rejection.false_accept = 0.05;
  const auto json = open_set_json(result, rejection);
  EXPECT_EQ(json["false_accept"], 5);
  EXPECT_EQ(json["turns"][0][1], "truck");
  EXPECT_EQ(json["known_seen"]["rejected"], 10);
  EXPECT_EQ(json["known_seen"]["accepted_of_classes"]["high"], 94);
  EXPECT_TRUE(json["known_unseen"]["accepted"].is_null());
  EXPECT_TRUE(json["known_unseen"]["accepted_of_classes"]["mean"].is_null());
  EXPECT_EQ(json["unknown"]["accepted_of_classes"]["mean"], 4);
  EXPECT_TRUE(json["unknown"]["accepted_of_classes"]["low"].is_null());
  EXPECT_EQ(json["known_score"]["oscr"], 78);
  EXPECT_EQ(json["confidence"]["fpr95"], 60);
  EXPECT_EQ(json["no_class"][0]["auroc"], 99);
  EXPECT_FALSE(json.contains("warnings"));
  result.warnings = {"one attribute"};
  EXPECT_EQ(open_set_json(result, rejection)["warnings"][0], "one attribute");
}

}  // namespace parsnets
