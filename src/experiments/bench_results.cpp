#include "experiments/bench_results.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <span>

#include "base/file.hpp"
#include "data/split.hpp"
#include "experiments/bench_runs.hpp"
#include "experiments/bench_uncertainty.hpp"
#include "experiments/evaluation_json.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"

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

void check_results(const Json& json, const std::string& name) {
  if (!json.is_object() || !json.contains("methods") || !json["methods"].is_array() ||
      !std::ranges::all_of(json["methods"], is_row_of_results))
    throw Error(BadInput{name, "", "results of a benchmark", "something else", "remove the file"});
}

}  // namespace

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

Json read_bench_results(const std::filesystem::path& file) {
  Json json = Json::parse(read_text_file(file), nullptr, false);
  check_results(json, file.string());
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
    const std::string name = file_.string();
    earlier_ = read_bench_results(file_);
    for (const char* key : {"version", "data", "features", "semantics", "split", "checksum"})
      if (earlier_.value(key, Json()) != json_.at(key))
        throw Error(BadInput{name, key, json_.at(key).dump(), earlier_.value(key, Json()).dump(),
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

}  // namespace parsnets
