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
  ReportOptions options;
  options.points = checked(option_name("points"), values.points, 10, 100000);
  options.explanations = static_cast<int>(checked("explanations", values.explanations, 0, 100000));
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
    require({{runs, "runs"}, {dataset, "dataset"}, {file, "file"}});
    if (count == 0) throw Error(ErrorCode::usage, "argument 'count': expected at least one run, found 0");
    const auto values = read_struct(options, PARSNETS_REPORT_OPTIONS_INIT, "parsnets_report_options");
    const ReportOptions wanted = report_options_from(values);
    std::vector<ReportRun> given;
    for (std::size_t i = 0; i < count; ++i) given.push_back(run_from(runs[i], dataset->data));
    const Thumbnails photographs =
        values.photographs == nullptr ? Thumbnails{} : read_thumbnails(values.photographs, dataset->data.samples());
    Work work(threads, progress, user);
    write_text_file(file, report_page(report_data(given, photographs, wanted, work.pool, work.progress())));
  });
}

// The study of all data sets and the texts of its tables behind parsnets.h.

parsnets_status parsnets_reproduce(const char* root, const char* out, const parsnets_reproduce_options* options,
                                   uint32_t threads, parsnets_progress_function progress, void* user) {
  return guarded([&] {
    require({{root, "root"}, {out, "out"}});
    const auto values = read_struct(options, PARSNETS_REPRODUCE_OPTIONS_INIT, "parsnets_reproduce_options");
    ReproduceOptions wanted;
    wanted.root = root;
    wanted.out = out;
    if (values.methods != nullptr) wanted.methods = values.methods;
    wanted.seeds = static_cast<int>(checked(option_name("seeds"), values.seeds, 1, 1000));
    wanted.seed = values.seed;
    wanted.ablation = values.ablation != 0;
    wanted.sparsity = values.sparsity != 0;
    wanted.report = values.report != 0;
    wanted.points = checked(option_name("points"), values.points, 10, 100000);
    if (values.own_rows != nullptr) wanted.rows = values.own_rows;
    Work work(threads, progress, user);
    reproduce(wanted, work.pool, work.progress());
  });
}

parsnets_status parsnets_table_text(const char* json, const char* format, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    require({{json, "json"}, {format, "format"}, {length, "length"}});
    const ResultTable table = result_table_from(parse_json(json, "json"), "json");
    const std::string made = to_text(table, table_format_of("table." + std::string(format), "format"));
    *length = made.size();
    if (text == nullptr || capacity == 0) return;
    const std::size_t copied = std::min(made.size(), capacity - 1);
    std::memcpy(text, made.data(), copied);
    text[copied] = '\0';
  });
}
