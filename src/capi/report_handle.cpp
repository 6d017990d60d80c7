// The report behind parsnets.h.

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "capi/handles.hpp"
#include "parsnets/report.hpp"

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
