#include <nlohmann/json.hpp>

#include "capi/small_handles.hpp"
#include "train/train_options.hpp"

namespace parsnets::test {

namespace {

template <class Say>
nlohmann::json said_by(const Say& say, parsnets_options* options) {
  const char* json = nullptr;
  EXPECT_OK(say(options, &json));
  return nlohmann::json::parse(json);
}
nlohmann::json values_of(parsnets_options* options) { return said_by(parsnets_options_json, options); }
nlohmann::json description_of(parsnets_options* options) { return said_by(parsnets_options_describe, options); }

nlohmann::json described(parsnets_options* options, const std::string& name) {
  for (const auto& one : description_of(options))
    if (one["name"] == name) return one;
  return {};
}

}  // namespace

TEST(CApiOptions, AreThoseOfTheCommandLine) {
  TrainSettings defaults;
  const auto expected = nlohmann::json::parse(train_option_table(defaults).to_json().dump());
  const auto options = handle_with({});
  const auto values = values_of(options.get());
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(values.at(name), value) << name;
  EXPECT_EQ(values["seed"], 1);
  EXPECT_EQ(values["resume"], false);
  EXPECT_EQ(values["checkpoint"], "");
  EXPECT_EQ(values.size(), expected.size() + 3);
  EXPECT_EQ(description_of(options.get()).size(), values.size());
  const auto method = described(options.get(), "method");
  EXPECT_EQ(method["default"], "parsnets");
  EXPECT_EQ(method["choices"][4], "ridge");
  EXPECT_FALSE(method["help"].get<std::string>().empty());
}

TEST(CApiOptions, WhatIsSetIsSaid) {
  const auto options =
      handle_with({{"lambda", "3"}, {"search", "grid"}, {"seed", "18446744073709551615"}, {"lambda", "4"}});
  EXPECT_EQ(values_of(options.get())["lambda"], 4.0);
  EXPECT_EQ(values_of(options.get())["search"], "grid");
  EXPECT_EQ(values_of(options.get())["seed"], 18446744073709551615u);
  EXPECT_EQ(described(options.get(), "lambda")["default"], "1.0");
}

TEST(CApiOptions, ImpossibleOnesAreRefusedAndChangeNothing) {
  const auto options = handle_with({});
  const auto before = description_of(options.get()), values = values_of(options.get());
  EXPECT_TRUE(fails(parsnets_options_set(options.get(), "lamda", "3"), PARSNETS_USAGE, "lamda"));
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"data", "folder"}, {"lambda", "nan"}, {"lambda", ""}, {"method", "magic"}, {"search", "yes"}})
    EXPECT_EQ(parsnets_options_set(options.get(), name, value), PARSNETS_USAGE) << name << " " << value;
  EXPECT_TRUE(fails(parsnets_options_set(options.get(), "lambda", "-1"), PARSNETS_USAGE, "1e-09"));
  EXPECT_TRUE(last_error_has("'-1'")) << parsnets_last_error();
  EXPECT_EQ(parsnets_options_set(options.get(), "grid", "\xff"), PARSNETS_BAD_INPUT)
      << "could not be told back as JSON";
  EXPECT_EQ(description_of(options.get()), before);
  EXPECT_EQ(values_of(options.get()), values);
}

}  // namespace parsnets::test
