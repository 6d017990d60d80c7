#include "report/field_figures.hpp"

#include <cmath>

#include "base/json_file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& name, const std::string& field, const std::string& expected,
                         const std::string& found) {
  throw Error(BadInput{name, field, expected, found, "remove the file from the run folder or evaluate again"});
}

Json accuracies(const nlohmann::json& evaluation) {
  Json json{{"zsl", evaluation.at("zsl").at("top1_per_class").get<double>()}};
  for (const char* key : {"u", "s", "h"})
    json[key] = evaluation.contains("gzsl") ? Json(evaluation.at("gzsl").at(key).get<double>()) : Json();
  return json;
}

Json mean_and_sd(const nlohmann::json& value) {
  return {{"mean", value.at("mean").get<double>()},
          {"sd", value.at("sd").is_null() ? Json() : Json(value.at("sd").get<double>())}};
}

void check_model(double zsl, const Evaluation& test, const std::string& name, const char* field) {
  if (std::abs(zsl - test.zsl.top1_per_class) > 1e-6)
    refuse(name, field, "the ZSL accuracy of the run's model, " + std::to_string(test.zsl.top1_per_class),
           std::to_string(zsl));
}

Json transductive(const nlohmann::json& file, const Evaluation& test, const std::string& name) {
  Json json{{"protocol", file.at("protocol").get<std::string>()},
            {"samples", file.at("samples").get<std::size_t>()},
            {"before", accuracies(file.at("before"))},
            {"after", accuracies(file)},
            {"moves", Json::array()}};
  check_model(json["before"]["zsl"].get<double>(), test, name, "before");
  for (const auto& move : file.at("moves"))
    json["moves"].push_back({{"class", move.at("class").get<std::string>()},
                             {"support", move.at("support").get<double>()},
                             {"degrees", move.at("degrees").get<double>()}});
  return json;
}

Json few_shot(const nlohmann::json& file, const Evaluation& test, const std::string& name) {
  Json json{{"draws", file.at("draws").get<int>()},
            {"descriptions_alone", file.at("descriptions_alone").get<double>()},
            {"rows", Json::array()}};
  check_model(json["descriptions_alone"].get<double>(), test, name, "descriptions_alone");
  for (const auto& row : file.at("rows"))
    json["rows"].push_back({{"examples", row.at("examples").get<int>()},
                            {"taught", mean_and_sd(row.at("taught"))},
                            {"examples_alone", mean_and_sd(row.at("examples_alone"))}});
  return json;
}

}  // namespace

void add_field_figures(const std::string& text, const std::string& name, const Dataset& data, const Evaluation& test,
                       nlohmann::ordered_json& run) {
  const nlohmann::json file = parse_json(text, name);
  if (!file.is_object()) refuse(name, "", "a JSON object with results", file.type_name());
  if (!file.contains("transductive") && !file.contains("few_shot")) return;
  try {
    const std::pair<const char*, const std::string*> expected[] = {{"data", &data.name},
                                                                   {"features", &data.features_name}};
    for (const auto& [key, own] : expected)
      if (const auto found = file.at(key).get<std::string>(); found != *own)
        refuse(name, key, "that of the run, '" + *own + "'", "'" + found + "'");
    if (file.contains("transductive")) {
      Json json = transductive(file.at("transductive"), test, name);
      for (const auto& other : run.value("transductive", Json::array()))
        if (other["protocol"] == json["protocol"]) refuse(name, "protocol", "one file per protocol", "a second one");
      run["transductive"].push_back(std::move(json));
    }
    if (file.contains("few_shot")) {
      if (run.contains("few_shot")) refuse(name, "few_shot", "one few-shot evaluation per run", "a second one");
      run["few_shot"] = few_shot(file.at("few_shot"), test, name);
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(name, "", "results of an evaluation", error.what());
  }
}

}  // namespace parsnets
