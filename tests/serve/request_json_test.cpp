#include "serve/request_json.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "serve/http.hpp"

namespace {

using namespace parsnets;

const RequestLimits kLimits{3, 2, 4, 10, 2, 3};

int status_of_json(const std::string& json) {
  try {
    parse_predict_request(json, kLimits);
    return 200;
  } catch (const HttpError& e) {
    return e.status();
  }
}

}  // namespace

TEST(RequestJson, ReadsEveryField) {
  const auto request = parse_predict_request(
      R"({"bank":{"add":[{"attributes":[1,2],"class":"é"}],"remove":["a","b"]},"features":[[1,2,3],[4,5,6]],"top":7,
          "among":"unseen","reject":false,"coverage":0.9,"attributes":true,"return_features":true})",
      kLimits);
  EXPECT_EQ(request.features, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(request.rows, 2u);
  EXPECT_EQ(request.top, 7u);
  EXPECT_EQ(request.among, Among::unseen);
  EXPECT_EQ(request.reject, false);
  EXPECT_EQ(request.coverage, 0.9);
  EXPECT_TRUE(request.attributes && request.return_features);
  EXPECT_EQ(request.bank.add.at(0).name, "é");
  EXPECT_EQ(request.bank.add.at(0).attributes, (std::vector<float>{1, 2}));
  EXPECT_EQ(request.bank.remove, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parse_predict_request(R"({"samples":[9,0]})", kLimits).samples, (std::vector<std::int32_t>{9, 0}));
  EXPECT_EQ(parse_predict_request(R"({"samples":"all"})", kLimits).samples.size(), 10u);
}

TEST(RequestJson, ReadsAddedClassesByNames) {
  const auto add = [](const std::string& rest) {
    return parse_predict_request(R"({"bank":{"add":[{"class":"a",)" + rest + "}]}}", kLimits).bank.add.at(0);
  };
  const AddedClass named = add(R"("attributes":{"x":1.5,"y":-2},"like":"b")");
  EXPECT_EQ(named.like, "b");
  EXPECT_EQ(named.named, (std::vector<std::pair<std::string, float>>{{"x", 1.5f}, {"y", -2.0f}}));
  EXPECT_TRUE(named.attributes.empty());
  EXPECT_EQ(add(R"("like":"b")").like, "b");
  for (const char* bad : {R"("like":"b","attributes":[1,2])", R"("like":1)", R"("attributes":{"x":1e39})",
                          R"("attributes":{"x":"1"})", R"("attributes":{"x":1,"x":2})", R"("attributes":[])"})
    EXPECT_THROW(add(bad), HttpError) << bad;
}

TEST(RequestJson, ReadsTheSameFromAQuery) {
  const auto request = parse_predict_query(
      {{"top", "2"}, {"among", "seen"}, {"reject", "true"}, {"bank", R"({"remove":["x"]})"}}, kLimits);
  EXPECT_EQ(request.top, 2u);
  EXPECT_TRUE(request.reject);
  EXPECT_EQ(request.among, Among::seen);
  EXPECT_EQ(request.bank.remove.at(0), "x");
  EXPECT_THROW(parse_predict_query({{"features", "[[1,2,3]]"}}, kLimits), HttpError);
  EXPECT_THROW(parse_predict_query({{"top", "2 3"}}, kLimits), HttpError);
}

TEST(RequestJson, WhatIsTooMuchIsTooLarge) {
  EXPECT_EQ(status_of_json(R"({"features":[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]})"), 200);
  EXPECT_EQ(status_of_json(R"({"features":[[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]})"), 413);
  EXPECT_EQ(status_of_json(R"({"samples":[0,0,0,0,0]})"), 413);
  const std::string one = R"({"class":"a","attributes":[1,2]})";
  EXPECT_EQ(status_of_json(R"({"bank":{"add":[)" + one + "," + one + "]}}"), 200);
  EXPECT_EQ(status_of_json(R"({"bank":{"add":[)" + one + "," + one + "," + one + "]}}"), 413);
}

TEST(RequestJson, AttributeNamesBeyondThoseOfTheModelAreNotRead) {
  std::string named;
  for (int i = 0; i < 1000; ++i) named += fmt::format("{}\"a{}\":1", i == 0 ? "" : ",", i);
  named += ",broken";  // so far nobody reads
  EXPECT_EQ(status_of_json(R"({"bank":{"add":[{"class":"n","like":"b","attributes":{)" + named + "}}]}}"), 413);
}

TEST(RequestJson, WhatDoesNotFitTheModelIsBad) {
  for (const char* json :
       {R"({"features":[[1,2]]})", R"({"features":[[1,2,3,4]]})", R"({"samples":[10]})", R"({"top":0})",
        R"({"features":[[1,2,3]],"samples":[1]})", R"({"bank":{"add":[{"class":"a","attributes":[1]}]}})",
        R"({"bank":{"add":[{"class":"a\nb","attributes":[1,2]}]}})", R"({"bank":{"remove":["a\u0000"]}})",
        R"({"bank":{"remove":["a","b","c","d"]}})"})
    EXPECT_EQ(status_of_json(json), 400) << json;
}
