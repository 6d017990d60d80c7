#include <nlohmann/json.hpp>

#include "capi/small_handles.hpp"
#include "train/train_options.hpp"

namespace parsnets::test {

namespace {

nlohmann::json values_of(parsnets_options* options) {
  const char* json = nullptr;
  EXPECT_OK(parsnets_options_json(options, &json));
  return nlohmann::json::parse(json);
}

nlohmann::json description_of(parsnets_options* options) {
  const char* json = nullptr;
  EXPECT_OK(parsnets_options_describe(options, &json));
  return nlohmann::json::parse(json);
}

nlohmann::json described(parsnets_options* options, const std::string& name) {
  for (const auto& one : description_of(options))
    if (one["name"] == name) return one;
  return {};
}

}  // namespace

TEST(CApiOptions, AreThoseOfTheCommandLine) {
  TrainOptions defaults;
  const auto expected = nlohmann::json::parse(train_option_table(defaults).to_json().dump());
  const auto options = options_with({});
  const auto values = values_of(options.get());
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(values.at(name), value) << name;
  EXPECT_EQ(values["seed"], 1);
  EXPECT_EQ(values["resume"], false);
  EXPECT_EQ(values["checkpoint"], "");
  EXPECT_EQ(values.size(), expected.size() + 3);
  EXPECT_EQ(description_of(options.get()).size(), values.size());
  const auto method = described(options.get(), "method");
  EXPECT_EQ(method["default"], "parsnets");
  EXPECT_EQ(method["choices"][3], "ridge");
  EXPECT_FALSE(method["help"].get<std::string>().empty());
}

TEST(CApiOptions, WhatIsSetIsSaidAndTheResetForgetsIt) {
  const auto options =
      options_with({{"lambda", "3"}, {"select", "true"}, {"seed", "18446744073709551615"}, {"lambda", "4"}});
  EXPECT_EQ(values_of(options.get())["lambda"], 4.0);
  EXPECT_EQ(values_of(options.get())["select"], true);
  EXPECT_EQ(values_of(options.get())["seed"], 18446744073709551615u);
  EXPECT_EQ(described(options.get(), "lambda")["set"], true);
  EXPECT_EQ(described(options.get(), "lambda")["default"], "targets classes: 1; parsnets, mmg: 20; otherwise 1");
  EXPECT_EQ(described(options.get(), "method")["set"], false);
  ASSERT_OK(parsnets_options_reset(options.get()));
  EXPECT_EQ(values_of(options.get()), values_of(options_with({}).get()));
  EXPECT_EQ(described(options.get(), "lambda")["set"], false);
}

TEST(CApiOptions, ImpossibleOnesAreRefusedAndChangeNothing) {
  const auto options = options_with({});
  const auto before = description_of(options.get()), values = values_of(options.get());
  EXPECT_EQ(parsnets_options_set(options.get(), "lamda", "3"), PARSNETS_USAGE);
  EXPECT_TRUE(last_error_has("lamda"));
  EXPECT_EQ(parsnets_options_set(options.get(), "data", "folder"), PARSNETS_USAGE) << "not an option of training";
  EXPECT_EQ(parsnets_options_set(options.get(), "lambda", "-1"), PARSNETS_USAGE);
  EXPECT_TRUE(last_error_has("1e-09") && last_error_has("'-1'")) << parsnets_last_error();
  EXPECT_EQ(parsnets_options_set(options.get(), "lambda", "nan"), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_options_set(options.get(), "lambda", ""), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_options_set(options.get(), "method", "magic"), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_options_set(options.get(), "select", "yes"), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_options_set(options.get(), "grid", "\xff"), PARSNETS_BAD_INPUT)
      << "could not be told back as JSON";
  EXPECT_EQ(description_of(options.get()), before);
  EXPECT_EQ(values_of(options.get()), values);
}

}  // namespace parsnets::test
