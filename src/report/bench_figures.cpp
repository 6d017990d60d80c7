#include "report/bench_figures.hpp"

#include "base/json_file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

/// {"mean", "sd"}; a single seed has no spread.
Json figure(const nlohmann::json& summary, const char* name) {
  if (!summary.contains(name)) return nullptr;
  const auto& value = summary.at(name);
  return {{"mean", value.at("mean")}, {"sd", value.at("sd").is_number() ? Json(value.at("sd")) : Json()}};
}

}  // namespace

void add_bench_figures(const std::string& text, const std::string& name, nlohmann::ordered_json& run) {
  const nlohmann::json bench = parse_json(text, name);
  if (!bench.is_object())
    throw Error(BadInput{name, "", "a JSON object, as 'bench --out' writes it", bench.type_name(), ""});
  const std::string sweep = bench.value("sweep", "");
  const bool ablation = bench.value("ablation", false);
  if ((sweep.empty() && !ablation) || !bench.contains("methods")) return;
  try {
    Json rows = Json::array();
    std::size_t networks = 0;
    const std::string option = sweep == "k" ? "open" : sweep.substr(0, sweep.find('='));
    for (const auto& method : bench.at("methods")) {
      const auto& summary = method.at("summary");
      Json row{{"label", method.at("method")},
               {"seeds", method.at("runs").size()},
               {"zsl", figure(summary, "zsl")},
               {"h", figure(summary, "h")}};
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
    throw Error(BadInput{name, "", "what 'bench --out' writes", error.what(), "run the benchmark again"});
  }
}

}  // namespace parsnets
