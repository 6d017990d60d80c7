#include "report/bench_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/json_file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

/// {"mean", "sd"}; a single seed or draw has no spread.
Json mean_and_sd(const nlohmann::json& value) {
  return {{"mean", value.at("mean").get<double>()},
          {"sd", value.at("sd").is_null() ? Json() : Json(value.at("sd").get<double>())}};
}

/// What refuses a file of a certain kind.
struct Refusal {
  std::string name, advice;

  [[noreturn]] void operator()(const std::string& field, const std::string& expected, const std::string& found) const {
    throw Error(BadInput{name, field, expected, found, advice});
  }
  void unless_equal(const nlohmann::json& file, const char* key, const std::string& own) const {
    if (const auto found = file.at(key).get<std::string>(); found != own)
      (*this)(key, "that of the run, '" + own + "'", "'" + found + "'");
  }
};

void add_bench(const nlohmann::json& bench, const std::string& name, const Dataset& data, Json& run) {
  const Refusal refuse{name, "remove the file from the run folder"};
  const bool ablation = bench.contains("ablation");
  const std::string sweep = ablation ? "" : bench.at("sweep").get<std::string>();
  refuse.unless_equal(bench, "data", data.name);
  refuse.unless_equal(bench, "features", data.features_name);
  refuse.unless_equal(bench, "semantics", data.semantics.name);
  if (run.contains(ablation ? "ablation" : "sweep"))
    throw Error(BadInput{name, "", ablation ? "one ablation per run" : "one sweep per run", "a second one",
                         "remove one of the files from the run folder"});
  Json rows = Json::array();
  std::size_t networks = 0;
  const std::string option = sweep == "k" ? "active" : sweep.substr(0, sweep.find('='));
  for (const auto& method : bench.at("methods")) {
    if (method.at("runs").empty()) continue;  // it failed
    Json row{{"label", method.at("method")}, {"seeds", method.at("runs").size()}};
    for (const char* metric : {"zsl", "h"})
      row[metric] = method.at("summary").contains(metric) ? mean_and_sd(method.at("summary").at(metric)) : Json();
    if (!ablation) {
      const auto& options = method.at("runs").at(0).at("options");
      row["value"] = options.at(option);
      networks = options.value("networks", std::size_t{1});
      row["sparsity"] = option == "active" && networks > 0
                            ? Json(options.at("active").get<double>() / static_cast<double>(networks))
                            : Json();
    }
    rows.push_back(std::move(row));
  }
  if (ablation)
    run["ablation"] = {{"rows", rows}};
  else
    run["sweep"] = {{"option", option}, {"networks", networks}, {"rows", rows}};
}

Json accuracies(const nlohmann::json& evaluation) {
  Json json{{"zsl", evaluation.at("zsl").at("top1_per_class").get<double>()}};
  for (const char* key : {"u", "s", "h"})
    json[key] = evaluation.contains("gzsl") ? Json(evaluation.at("gzsl").at(key).get<double>()) : Json();
  return json;
}

Json transductive(const nlohmann::json& file) {
  Json json{{"protocol", file.at("protocol").get<std::string>()},
            {"samples", file.at("samples").get<std::size_t>()},
            {"before", accuracies(file.at("before"))},
            {"after", accuracies(file)},
            {"moves", Json::array()}};
  for (const auto& move : file.at("moves"))
    json["moves"].push_back({{"class", move.at("class").get<std::string>()},
                             {"support", move.at("support").get<double>()},
                             {"degrees", move.at("degrees").get<double>()}});
  return json;
}

Json few_shot(const nlohmann::json& file) {
  Json json{{"draws", file.at("draws").get<int>()},
            {"descriptions_alone", file.at("descriptions_alone").get<double>()},
            {"rows", Json::array()}};
  for (const auto& row : file.at("rows"))
    json["rows"].push_back({{"examples", row.at("examples").get<int>()},
                            {"taught", mean_and_sd(row.at("taught"))},
                            {"examples_alone", mean_and_sd(row.at("examples_alone"))}});
  return json;
}

void add_field(const nlohmann::json& file, const Dataset& data, const Evaluation& test, const Refusal& refuse,
               Json& run) {
  refuse.unless_equal(file, "data", data.name);
  refuse.unless_equal(file, "features", data.features_name);
  const auto check_model = [&](const Json& zsl, const char* field) {
    if (std::abs(zsl.get<double>() - test.zsl.top1_per_class) > 1e-6)
      refuse(field, "the ZSL accuracy of the run's model, " + std::to_string(test.zsl.top1_per_class),
             std::to_string(zsl.get<double>()));
  };
  if (file.contains("transductive")) {
    Json json = transductive(file.at("transductive"));
    check_model(json["before"]["zsl"], "before");
    for (const auto& other : run.value("transductive", Json::array()))
      if (other["protocol"] == json["protocol"]) refuse("protocol", "one file per protocol", "a second one");
    run["transductive"].push_back(std::move(json));
  }
  if (file.contains("few_shot")) {
    if (run.contains("few_shot")) refuse("few_shot", "one few-shot evaluation per run", "a second one");
    run["few_shot"] = few_shot(file.at("few_shot"));
    check_model(run["few_shot"]["descriptions_alone"], "descriptions_alone");
  }
}

}  // namespace

void add_file_figures(const BenchFile& from, const Dataset& data, const Evaluation& test, Json& run) {
  const nlohmann::json file = parse_json(from.text, from.name);
  if (!file.is_object())
    throw Error(BadInput{from.name, "", "a JSON object with benchmark results", file.type_name(), ""});
  try {
    if (file.contains("methods") && (file.contains("sweep") || file.contains("ablation")))
      add_bench(file, from.name, data, run);
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{from.name, "", "benchmark results", error.what(), "run the benchmark again"});
  }
  if (!file.contains("transductive") && !file.contains("few_shot")) return;
  const Refusal refuse{from.name, "remove the file from the run folder or evaluate again"};
  try {
    add_field(file, data, test, refuse, run);
  } catch (const nlohmann::json::exception& error) {
    refuse("", "results of an evaluation", error.what());
  }
}

namespace {

constexpr std::size_t kRocPoints = 200, kBins = 40;
constexpr std::array<std::pair<const char*, OpenSetKind>, 3> kKinds{{{"known_seen", OpenSetKind::known_seen},
                                                                     {"known_unseen", OpenSetKind::known_unseen},
                                                                     {"unknown", OpenSetKind::unknown}}};

double to_thousandths(double value) { return std::round(value * 1000) / 1000; }

Json curve_json(std::span<const AcceptancePoint> curve) {
  Json json = Json::array();
  for (const auto& point : thinned(curve, kRocPoints))
    json.push_back({to_thousandths(point.unknown), to_thousandths(point.known)});
  return json;
}

bool out_of_range(const JudgedSample& sample) { return sample.known_score == std::numeric_limits<float>::lowest(); }

/// Bins of equal width over all but the outermost hundredth of the samples, with an edge at 0.
std::vector<double> edges_of(std::span<const JudgedSample> samples) {
  std::vector<float> values;
  for (const auto& sample : samples)
    if (!out_of_range(sample)) values.push_back(sample.above_threshold);
  std::ranges::sort(values);
  const std::size_t cut = values.size() / 200;
  double low = -1, high = 1;
  if (!values.empty()) {
    low = std::min(0.0, static_cast<double>(values[cut]));
    high = std::max(0.0, static_cast<double>(values[values.size() - 1 - cut]));
  }
  if (!(high - low > 0)) low = -1, high = 1;
  const double width = (high - low) / kBins;
  const auto below = static_cast<int>(std::ceil(-low / width - 1e-9)),
             above = static_cast<int>(std::ceil(high / width - 1e-9));
  std::vector<double> edges;
  for (int i = -below; i <= above; ++i) edges.push_back(i * width);
  return edges;
}

/// What the model's thresholds accept, in percent.
Json at_thresholds(const OpenSetEvaluation& result) {
  std::size_t accepted = 0, right = 0;
  for (const auto& sample : result.samples) {
    if (sample.kind == OpenSetKind::unknown || sample.above_threshold < 0) continue;
    ++accepted;
    right += sample.right;
  }
  const auto known = static_cast<double>(result.samples.size() - result.unknown.samples);
  return {{"unknown", result.unknown.accepted},
          {"known", 100.0 * static_cast<double>(accepted) / known},
          {"known_right", 100.0 * static_cast<double>(right) / known}};
}

}  // namespace

Json open_set_histogram(std::span<const JudgedSample> samples) {
  const std::vector<double> edges = edges_of(samples);
  Json json{{"edges", edges}};
  for (const auto& [name, kind] : kKinds) {
    std::vector<std::size_t> counts(edges.size() - 1, 0);
    std::size_t all = 0, out = 0;
    for (const auto& sample : samples) {
      if (sample.kind != kind) continue;
      ++all;
      if (out_of_range(sample)) {
        ++out;
        continue;
      }
      const auto after = std::ranges::upper_bound(edges, static_cast<double>(sample.above_threshold)) - edges.begin();
      ++counts[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(after - 1, 0, std::ssize(counts) - 1))];
    }
    if (all == 0) {
      json[name] = json["out_of_range"][name] = nullptr;
      continue;
    }
    const auto percent = [&](std::size_t n) { return 100.0 * static_cast<double>(n) / static_cast<double>(all); };
    json[name] = Json::array();
    for (const auto n : counts) json[name].push_back(percent(n));
    json["out_of_range"][name] = percent(out);
  }
  return json;
}

Json open_set_figures(const Model& model, const Dataset& data, std::uint64_t seed, ThreadPool& pool,
                      ProgressObserver* progress) {
  if (model.rejection.empty()) return nullptr;
  if (data.split.test_seen.empty() && data.unseen_classes().size() < 2) return nullptr;
  OpenSetEvaluationOptions options;
  options.seed = seed;
  const OpenSetEvaluation result = evaluate_open_set(model, data, options, pool, progress);
  Json json = open_set_json(result, model.rejection);
  for (const auto& [name, quality] :
       {std::pair("known_score", &result.by_known_score), std::pair("confidence", &result.by_confidence)}) {
    json[name]["roc"] = curve_json(quality->roc);
    json[name]["oscr_curve"] = curve_json(quality->oscr_curve);
  }
  json["at_thresholds"] = at_thresholds(result);
  json["histogram"] = open_set_histogram(result.samples);
  return json;
}

}  // namespace parsnets
