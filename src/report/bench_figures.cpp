#include "report/bench_figures.hpp"

#include "base/json_file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

/// {"mean", "sd"}; a single seed has no spread.
Json mean_and_sd(const nlohmann::json& summary, const char* name) {
  if (!summary.contains(name)) return nullptr;
  const auto& value = summary.at(name);
  return {{"mean", value.at("mean")}, {"sd", value.at("sd").is_number() ? Json(value.at("sd")) : Json()}};
}

}  // namespace

void add_bench_figures(const std::string& text, const std::string& name, const Dataset& data,
                       nlohmann::ordered_json& run) {
  const nlohmann::json bench = parse_json(text, name);
  if (!bench.is_object())
    throw Error(BadInput{name, "", "a JSON object with benchmark results", bench.type_name(), ""});
  const bool ablation = bench.contains("ablation");
  if ((!bench.contains("sweep") && !ablation) || !bench.contains("methods")) return;
  try {
    const std::string sweep = ablation ? "" : bench.at("sweep").get<std::string>();
    const std::pair<const char*, const std::string*> expected[] = {
        {"data", &data.name}, {"features", &data.features_name}, {"semantics", &data.semantics.name}};
    for (const auto& [key, own] : expected)
      if (bench.at(key).get<std::string>() != *own)
        throw Error(BadInput{name, key, "that of the run, '" + *own + "'", "'" + bench.at(key).get<std::string>() + "'",
                             "remove the file from the run folder"});
    if (run.contains(ablation ? "ablation" : "sweep"))
      throw Error(BadInput{name, "", ablation ? "one ablation per run" : "one sweep per run", "a second one",
                           "remove one of the files from the run folder"});
    Json rows = Json::array();
    std::size_t networks = 0;
    const std::string option = sweep == "k" ? "open" : sweep.substr(0, sweep.find('='));
    for (const auto& method : bench.at("methods")) {
      if (method.at("runs").empty()) continue;  // it failed
      const auto& summary = method.at("summary");
      Json row{{"label", method.at("method")},
               {"seeds", method.at("runs").size()},
               {"zsl", mean_and_sd(summary, "zsl")},
               {"h", mean_and_sd(summary, "h")}};
      if (!ablation) {
        const auto& options = method.at("runs").at(0).at("options");
        row["value"] = options.at(option);
        networks = options.value("networks", std::size_t{1});
        row["sparsity"] = option == "open" && networks > 0
                              ? Json(options.at("open").get<double>() / static_cast<double>(networks))
                              : Json();
      }
      rows.push_back(std::move(row));
    }
    if (ablation)
      run["ablation"] = {{"rows", rows}};
    else
      run["sweep"] = {{"option", option}, {"networks", networks}, {"rows", rows}};
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{name, "", "benchmark results", error.what(), "run the benchmark again"});
  }
}

}  // namespace parsnets
