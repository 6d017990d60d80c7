#include "experiments/bench_results.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <span>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "data/sample_set.hpp"
#include "data/split.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "store/train_record_json.hpp"

namespace parsnets {

using Json = nlohmann::ordered_json;

namespace {

std::uint64_t seed_of(const Json& run) { return run.at("seed").get<std::uint64_t>(); }

bool is_row(const Json& row, const std::string& label, const Json& asked) {
  return row.at("method") == label && row.value("asked", Json()) == asked;
}

bool are_runs(const Json& runs) {
  return runs.is_array() && std::ranges::all_of(runs, [](const Json& run) {
           return run.is_object() && run.contains("seed") && run["seed"].is_number_unsigned();
         });
}

bool is_row_of_results(const Json& row) {
  return row.is_object() && row.contains("method") && row["method"].is_string() && row.contains("runs") &&
         are_runs(row["runs"]) && are_runs(row.value("other_runs", Json::array()));
}

std::string data_checksum(const Dataset& data) {
  uLong crc = crc32_z(0, nullptr, 0);
  const auto add = [&](auto values) {
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(values.data()), values.size() * sizeof(values[0]));
  };
  add(data.features.values());
  add(data.semantics.values.values());
  for (const auto* list : {&data.labels, &data.split.trainval, &data.split.test_seen, &data.split.test_unseen,
                           &data.split.train, &data.split.val})
    add(std::span(*list));
  return fmt::format("{:08x}", crc);
}

/// {"zsl": {"mean", "sd", "low", "high"}, …} over runs.
Json bench_summary(const Json& runs) {
  Json summary = Json::object();
  for (const auto& [name, at] :
       {std::pair("zsl", "/zsl/top1_per_class"), std::pair("u", "/gzsl/u"), std::pair("s", "/gzsl/s"),
        std::pair("h", "/gzsl/h"), std::pair("ausuc", "/gzsl/ausuc")}) {
    const auto values = values_of(runs, at);
    if (values.empty()) continue;
    const Interval interval = confidence_interval(values);
    summary[name] = {{"mean", interval.mean}, {"sd", interval.sd}, {"low", interval.low}, {"high", interval.high}};
  }
  return summary;
}

/// {"zsl", "u", "s", "h"}, each as `to_json` has it; the last three with GZSL alone.
template <class T, class ToJson>
Json per_result_json(const PerResult<T>& results, ToJson to_json) {
  Json json{{"zsl", to_json(results.zsl)}};
  if (!results.has_gzsl) return json;
  json["u"] = to_json(results.u);
  json["s"] = to_json(results.s);
  json["h"] = to_json(results.h);
  return json;
}

/// Points.
Json comparison_json(const PairedComparison& comparison) {
  return per_result_json(comparison, [](const PairedDifference& result) -> Json {
    const auto& [estimate, low, high] = result.difference;
    return {{"difference", estimate}, {"low", low}, {"high", high}, {"p", result.p}, {"exact", result.exact}};
  });
}

}  // namespace

Json read_bench_results(const std::filesystem::path& file) {
  Json json = parse_ordered_json(read_text_file(file), file.string());
  if (!json.is_object() || !json.contains("methods") || !json["methods"].is_array() ||
      !std::ranges::all_of(json["methods"], is_row_of_results))
    throw Error(BadInput{file.string(), "", "results of a benchmark", "something else", "remove the file"});
  return json;
}

Json bench_info(const Dataset& data, std::uint64_t seed, std::uint64_t seeds) {
  return {{"version", PARSNETS_VERSION},
          {"data", data.name},
          {"features", data.features_name},
          {"semantics", data.semantics.name},
          {"split", split_name(data.split)},
          {"known_as", data.known_as},
          {"proposed_split_of", data.split.proposed_of},
          {"checksum", data_checksum(data)},
          {"samples", data.samples()},
          {"dimensions", data.features.cols()},
          {"seen_classes", data.seen_classes().size()},
          {"unseen_classes", data.unseen_classes().size()},
          {"seed", seed},
          {"seeds", seeds},
          {"units", "percent"}};
}

BenchResults::BenchResults(Json info, std::filesystem::path file, bool resume)
    : json_(std::move(info)), file_(std::move(file)) {
  if (resume && std::filesystem::exists(file_)) {
    earlier_ = read_bench_results(file_);
    for (const char* key : {"version", "data", "features", "semantics", "split", "checksum"})
      if (earlier_.value(key, Json()) != json_.at(key))
        throw Error(BadInput{file_.string(), key, json_.at(key).dump(), earlier_.value(key, Json()).dump(),
                             "go on with the same data and version, or remove the file"});
  }
  json_["methods"] = Json::array();
}

void BenchResults::begin_row(const std::string& label, const Json& asked, const std::string& note, std::uint64_t first,
                             std::uint64_t count) {
  Json runs = Json::array(), others = Json::array();  // of other seeds: kept on file
  if (earlier_.is_object())
    for (const auto& row : earlier_.at("methods"))
      if (is_row(row, label, asked))
        for (const char* key : {"runs", "other_runs"})
          for (const auto& run : row.value(key, Json::array())) {
            const std::uint64_t seed = seed_of(run);
            (seed >= first && seed - first < count ? runs : others).push_back(run);
          }
  Json summary;
  try {
    summary = bench_summary(runs);
  } catch (const nlohmann::json::exception& error) {
    throw Error(BadInput{file_.string(), label, "numbers as results", error.what(), "remove the file"});
  }
  json_["methods"].push_back({{"method", label}, {"asked", asked}, {"summary", summary}, {"runs", runs}});
  if (!note.empty()) json_["methods"].back()["note"] = note;
  if (!others.empty()) json_["methods"].back()["other_runs"] = std::move(others);
  if (!runs.empty()) save();
}

bool BenchResults::has_run(std::uint64_t seed) const {
  return std::ranges::any_of(row().at("runs"), [&](const Json& run) { return seed_of(run) == seed; });
}

void BenchResults::add_run(Json run) {
  Json& row = json_["methods"].back();
  row["runs"].push_back(std::move(run));
  std::sort(row["runs"].begin(), row["runs"].end(),
            [](const Json& a, const Json& b) { return seed_of(a) < seed_of(b); });
  row["summary"] = bench_summary(row["runs"]);
  save();
}

void BenchResults::fail_row(const std::string& reason) {
  json_["methods"].back()["error"] = reason;
  save();
}

void BenchResults::add_uncertainty(const Dataset& data, ThreadPool& pool) {
  Json& methods = json_["methods"];
  Json& row = methods.back();
  const auto outcomes = outcomes_of_runs(row["runs"], data);
  if (!outcomes) return;
  row["intervals"] = intervals_json(bootstrap_intervals(*outcomes, pool));
  if (methods.size() > 1)
    if (const auto first = outcomes_of_runs(methods[0]["runs"], data)) {
      row["versus"] = {{"method", methods[0]["method"]}};
      row["versus"].update(comparison_json(compare_paired(*outcomes, *first, pool)));
    }
  save();
}

void BenchResults::save() const {
  if (file_.empty()) return;
  Json all = json_;  // with the earlier rows that were not come to yet, so that a second interrupt keeps them, too
  if (earlier_.is_object())
    for (const auto& row : earlier_.at("methods"))
      if (std::ranges::none_of(json_["methods"], [&](const Json& other) {
            return is_row(other, row.at("method").get<std::string>(), row.value("asked", Json()));
          }))
        all["methods"].push_back(row);
  make_folder_of(file_);
  write_text_file(file_, all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::vector<double> values_of(const Json& runs, const char* at) {
  const Json::json_pointer pointer(at);
  std::vector<double> values;
  for (const auto& run : runs)
    if (run.contains(pointer)) values.push_back(run.at(pointer).get<double>());
  return values;
}

Json bench_run(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress,
               const std::function<void(const Model&, const TrainRun&, std::uint64_t)>& keep) {
  TrainRun run;
  const Model model = train(data, options, pool, progress, &run);
  const Evaluation result = evaluate(model, data, pool, progress);
  Json json = evaluation_json(result, model.record.validation.gamma_from);
  json["intervals"] = intervals_json(bootstrap_intervals(outcomes_of(data, {&result.details->correct, 1}), pool));
  json["correct"] = correctness_json(result.details->correct);
  json["seed"] = options.run.seed;
  json["seconds"] = run.seconds;
  json["model_bytes"] = model_file_bytes(model);
  json["options"] = Json::parse(model.options);
  json["record"] = to_json(model.record);
  if (keep) keep(model, run, options.run.seed);
  return json;
}

namespace {

std::string to_hex(const std::vector<std::uint8_t>& correct) {
  std::vector<std::int32_t> right;
  for (std::size_t i = 0; i < correct.size(); ++i)
    if (correct[i] != 0) right.push_back(static_cast<std::int32_t>(i));
  return samples_to_hex(right);
}

std::vector<std::uint8_t> from_hex(const Json& correct, const char* key, std::size_t samples) {
  const Json found = correct.is_object() ? correct.value(key, Json()) : Json();
  const std::string hex = found.is_string() ? found.get<std::string>() : "";
  const auto right = samples_from_hex(hex);
  if (!found.is_string() || samples_to_hex(right) != hex ||
      (!right.empty() && static_cast<std::size_t>(right.back()) >= samples))
    throw Error(BadInput{"a run", fmt::format("correct/{}", key),
                         fmt::format("hexadecimal bits of {} samples", samples), found.is_string() ? "others" : "none",
                         "run the method again"});
  std::vector<std::uint8_t> out(samples, 0);
  for (const auto i : right) out[static_cast<std::size_t>(i)] = 1;
  return out;
}

}  // namespace

Json correctness_json(const Correctness& correct) {
  Json json{{"zsl", to_hex(correct.zsl)}};
  if (correct.seen.empty()) return json;
  json["unseen"] = to_hex(correct.unseen);
  json["seen"] = to_hex(correct.seen);
  return json;
}

std::optional<Outcomes> outcomes_of_runs(const Json& runs, const Dataset& data) {
  std::vector<Correctness> correct;
  const std::size_t unseen = data.split.test_unseen.size(), seen = data.split.test_seen.size();
  for (const auto& run : runs) {
    if (!run.contains("correct")) return {};
    const Json& bits = run.at("correct");
    correct.push_back({from_hex(bits, "zsl", unseen), {}, {}});
    if (seen == 0) continue;
    correct.back().unseen = from_hex(bits, "unseen", unseen);
    correct.back().seen = from_hex(bits, "seen", seen);
  }
  if (correct.empty()) return {};
  return outcomes_of(data, correct);
}

Json evaluation_json(const Evaluation& result, const std::string& gamma_from) {
  Json json{{"units", "percent"}};
  if (result.trained_samples != 0)
    json["trained_samples"] = result.trained_samples > 0 ? Json(result.trained_samples) : Json("unknown");
  json["zsl"] = {{"top1_per_class", result.zsl.top1_per_class}, {"top1", result.zsl.top1}, {"top5", result.zsl.top5}};
  if (result.has_gzsl)
    json["gzsl"] = {{"u", result.gzsl.u},         {"s", result.gzsl.s},         {"h", result.gzsl.h},
                    {"ausuc", result.gzsl.ausuc}, {"gamma", result.gzsl.gamma}, {"gamma_from", gamma_from}};
  if (!result.warnings.empty()) json["warnings"] = result.warnings;
  return json;
}

Json intervals_json(const EvaluationIntervals& intervals) {
  return per_result_json(intervals, [](const BootstrapInterval& interval) -> Json {
    return {{"estimate", interval.estimate}, {"low", interval.low}, {"high", interval.high}};
  });
}

}  // namespace parsnets
