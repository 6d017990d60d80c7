// The report behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "capi/handles.hpp"
#include "experiments/reproduce.hpp"
#include "report/report.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

ReportRun run_from(const parsnets_report_run* given, const Dataset& data) {
  require(given, "runs");
  const auto values = read_struct(given, parsnets_report_run{}, "parsnets_report_run");
  require(values.name, "name of a run");
  require(values.model, "model of a run");
  ReportRun run{values.name, &values.model->model, &data, values.run_json == nullptr ? "" : values.run_json, {}};
  check_utf8(values.name, "the name of a run");
  if (values.run_json != nullptr && !parse_json(values.run_json, "run_json of run '" + run.name + "'").is_object())
    throw Error(BadInput{"run_json of run '" + run.name + "'", "", "a JSON object", "something else",
                         "give the content of a run's run.json"});
  if (values.bench_count > 0) require(values.benches, "benches of a run");
  for (std::size_t i = 0; i < values.bench_count; ++i) {
    require(values.benches[i], "benches of a run");
    run.benches.push_back({values.benches[i], read_text_file(values.benches[i])});
  }
  return run;
}

ReportOptions report_options_from(const parsnets_report_options& values) {
  const auto check = [kMost = std::size_t{100000}](const char* field, std::size_t value, std::size_t low) {
    if (value < low || value > kMost)
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected {} to {}, found {}", option_name(field), low, kMost, value));
  };
  check("points", values.points, 10);
  check("explanations", values.explanations, 0);
  ReportOptions options;
  options.points = values.points;
  options.explanations = static_cast<int>(values.explanations);
  options.compare_mmg = values.compare_mmg != 0;
  options.seed = values.seed;
  if (values.own_rows != nullptr) options.own_rows = values.own_rows;
  return options;
}

}  // namespace

parsnets_status parsnets_report(const parsnets_report_run* const* runs, size_t count, const parsnets_dataset* dataset,
                                const parsnets_report_options* options, uint32_t threads,
                                parsnets_progress_function progress, void* user, const char* file) {
  return guarded([&] {
    require(runs, "runs");
    require(dataset, "dataset");
    require(file, "file");
    if (count == 0) throw Error(ErrorCode::usage, "argument 'count': expected at least one run, found 0");
    constexpr parsnets_report_options kDefaults = PARSNETS_REPORT_OPTIONS_INIT;
    const auto values = options == nullptr ? kDefaults : read_struct(options, kDefaults, "parsnets_report_options");
    const ReportOptions wanted = report_options_from(values);
    std::vector<ReportRun> given;
    for (std::size_t i = 0; i < count; ++i) given.push_back(run_from(runs[i], dataset->data));
    const Thumbnails photographs =
        values.photographs == nullptr ? Thumbnails{} : read_thumbnails(values.photographs, dataset->data.samples());
    CallbackObserver observer(progress, user);
    const BlasGuard turn;
    ThreadPool pool(checked_threads(threads));
    write_text_file(file, report_page(report_data(given, photographs, wanted, pool, observer.get())));
  });
}

// The study of all data sets and the texts of its tables behind parsnets.h.

parsnets_status parsnets_reproduce(const char* root, const char* out, const parsnets_reproduce_options* options,
                                   uint32_t threads, parsnets_progress_function progress, void* user) {
  return guarded([&] {
    require(root, "root");
    require(out, "out");
    constexpr parsnets_reproduce_options kDefaults = PARSNETS_REPRODUCE_OPTIONS_INIT;
    const auto values = options == nullptr ? kDefaults : read_struct(options, kDefaults, "parsnets_reproduce_options");
    if (values.seeds < 1 || values.seeds > 1000)
      throw Error(ErrorCode::usage,
                  option_name("seeds") + ": expected 1 to 1000, found " + std::to_string(values.seeds));
    if (values.points < 10 || values.points > 100000)
      throw Error(ErrorCode::usage,
                  option_name("points") + ": expected 10 to 100000, found " + std::to_string(values.points));
    ReproduceOptions wanted;
    wanted.root = root;
    wanted.out = out;
    if (values.methods != nullptr) wanted.methods = values.methods;
    wanted.seeds = static_cast<int>(values.seeds);
    wanted.seed = values.seed;
    wanted.ablation = values.ablation != 0;
    wanted.sparsity = values.sparsity != 0;
    wanted.report = values.report != 0;
    wanted.points = values.points;
    if (values.own_rows != nullptr) wanted.rows = values.own_rows;
    CallbackObserver observer(progress, user);
    const BlasGuard turn;
    ThreadPool pool(checked_threads(threads));
    reproduce(wanted, pool, observer.get());
  });
}

parsnets_status parsnets_table_text(const char* json, const char* format, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    require(json, "json");
    require(format, "format");
    require(length, "length");
    const ResultTable table = result_table_from(parse_json(json, "json"), "json");
    const std::string made = to_text(table, table_format_of("table." + std::string(format), "format"));
    *length = made.size();
    if (text == nullptr || capacity == 0) return;
    const std::size_t copied = std::min(made.size(), capacity - 1);
    std::memcpy(text, made.data(), copied);
    text[copied] = '\0';
  });
}
