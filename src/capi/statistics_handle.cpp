// Statistics behind parsnets.h, and training from them.

#include <fmt/format.h>

#include <numeric>

#include "capi/handles.hpp"
#include "model/names.hpp"
#include "train/train_statistics.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

StatisticsOptions options_from(const parsnets_statistics_options* given) {
  const auto read = read_struct(given, PARSNETS_STATISTICS_OPTIONS_INIT, "parsnets_statistics_options");
  StatisticsOptions options;
  options.groups = checked("groups", read.groups, 1, 1024);
  options.kept_rows = read.kept_rows;
  if (read.feature_scaling == nullptr) return options;
  for (const auto& [name, value] : feature_scaling_names())
    if (name == read.feature_scaling && value != FeatureScaling::standardize) {
      options.scaling = value;
      return options;
    }
  throw Error(ErrorCode::usage, fmt::format("{}: expected none, l2 or sqrt-l2 for statistics, found '{}'",
                                            option_name("feature-scaling"), read.feature_scaling));
}

}  // namespace

parsnets_status parsnets_statistics_create(const char* const* class_names, size_t classes, size_t dimensions,
                                           const parsnets_statistics_options* options,
                                           parsnets_statistics** statistics) {
  return created(statistics, "statistics", [&] {
    require(class_names, "class_names");
    if (dimensions < 1) check_count("dimensions", 1, dimensions);
    return new parsnets_statistics{
        Statistics(options_from(options), distinct_names(class_names, classes, "class_names"), dimensions)};
  });
}

parsnets_status parsnets_statistics_add(parsnets_statistics* statistics, const float* x, const int32_t* labels,
                                        const double* weights, size_t samples, size_t dimensions, uint32_t threads) {
  return guarded([&] {
    require({{statistics, "statistics"}, {x, "x"}, {labels, "labels"}});
    check_count("dimensions", statistics->sums.dimensions(), dimensions);
    std::vector<std::int32_t> rows(samples);
    std::iota(rows.begin(), rows.end(), 0);
    Work work(threads);
    statistics->sums.add({x, samples, dimensions}, {labels, samples}, rows, work.pool,
                         weights == nullptr ? std::span<const double>() : std::span(weights, samples));
  });
}

parsnets_status parsnets_statistics_merge(parsnets_statistics* statistics, const parsnets_statistics* other) {
  return guarded([&] {
    require({{statistics, "statistics"}, {other, "other"}});
    if (other == statistics)
      statistics->sums.merge(other->sums.copy());
    else
      statistics->sums.merge(other->sums);
  });
}

parsnets_status parsnets_statistics_load(const char* file, parsnets_statistics** statistics) {
  return created(statistics, "statistics", [&] {
    require(file, "file");
    return new parsnets_statistics{load_statistics(file)};
  });
}

parsnets_status parsnets_statistics_save(const parsnets_statistics* statistics, const char* file) {
  return guarded([&] {
    require({{statistics, "statistics"}, {file, "file"}});
    save_statistics(statistics->sums, file);
  });
}

parsnets_status parsnets_statistics_clone(const parsnets_statistics* statistics, parsnets_statistics** copy) {
  return created(copy, "copy", [&] {
    require(statistics, "statistics");
    return new parsnets_statistics{statistics->sums.copy()};
  });
}

void parsnets_statistics_free(parsnets_statistics* statistics) { delete statistics; }

parsnets_status parsnets_train_statistics(const parsnets_statistics* statistics, const parsnets_arrays* classes,
                                          const parsnets_options* options, uint32_t threads,
                                          parsnets_progress_function progress, void* user, parsnets_model** model) {
  return created(model, "model", [&] {
    require({{statistics, "statistics"}, {classes, "classes"}, {options, "options"}});
    const Dataset data = classes_from(read_struct(classes, PARSNETS_ARRAYS_INIT, "parsnets_arrays"));
    Work work(threads, progress, user);
    return new parsnets_model(
        train_from_statistics(statistics->sums, data, options->settings.options(), work.pool, work.progress()));
  });
}
