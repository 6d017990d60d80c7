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
  const parsnets_statistics_options defaults = PARSNETS_STATISTICS_OPTIONS_INIT;
  const auto read = given == nullptr ? defaults : read_struct(given, defaults, "parsnets_statistics_options");
  StatisticsOptions options;
  if (read.groups < 1 || read.groups > 1024)
    throw Error(ErrorCode::usage, fmt::format("groups: expected 1 to 1024, found {}", read.groups));
  options.groups = read.groups;
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
  return guarded([&] {
    require(statistics, "statistics");
    *statistics = nullptr;
    require(class_names, "class_names");
    if (dimensions < 1) check_count("dimensions", 1, dimensions);
    *statistics = new parsnets_statistics{
        Statistics(options_from(options), distinct_names(class_names, classes, "class_names"), dimensions)};
  });
}

parsnets_status parsnets_statistics_add(parsnets_statistics* statistics, const float* x, const int32_t* labels,
                                        const double* weights, size_t samples, size_t dimensions, uint32_t threads) {
  return guarded([&] {
    require(statistics, "statistics");
    require(x, "x");
    require(labels, "labels");
    check_count("dimensions", statistics->sums.dimensions(), dimensions);
    std::vector<std::int32_t> rows(samples);
    std::iota(rows.begin(), rows.end(), 0);
    const unsigned wanted = checked_threads(threads);
    const BlasGuard turn;
    ThreadPool pool(wanted);
    statistics->sums.add({x, samples, dimensions}, {labels, samples}, rows, pool,
                         weights == nullptr ? std::span<const double>() : std::span(weights, samples));
  });
}

parsnets_status parsnets_statistics_merge(parsnets_statistics* statistics, const parsnets_statistics* other) {
  return guarded([&] {
    require(statistics, "statistics");
    require(other, "other");
    if (other == statistics)
      statistics->sums.merge(other->sums.copy());
    else
      statistics->sums.merge(other->sums);
  });
}

parsnets_status parsnets_statistics_load(const char* file, parsnets_statistics** statistics) {
  return guarded([&] {
    require(statistics, "statistics");
    *statistics = nullptr;
    require(file, "file");
    *statistics = new parsnets_statistics{load_statistics(file)};
  });
}

parsnets_status parsnets_statistics_save(const parsnets_statistics* statistics, const char* file) {
  return guarded([&] {
    require(statistics, "statistics");
    require(file, "file");
    save_statistics(statistics->sums, file);
  });
}

parsnets_status parsnets_statistics_clone(const parsnets_statistics* statistics, parsnets_statistics** copy) {
  return guarded([&] {
    require(copy, "copy");
    *copy = nullptr;
    require(statistics, "statistics");
    *copy = new parsnets_statistics{statistics->sums.copy()};
  });
}

void parsnets_statistics_free(parsnets_statistics* statistics) { delete statistics; }

parsnets_status parsnets_train_statistics(const parsnets_statistics* statistics, const parsnets_arrays* classes,
                                          const parsnets_options* options, uint32_t threads,
                                          parsnets_progress_function progress, void* user, parsnets_model** model) {
  return guarded([&] {
    require(model, "model");
    *model = nullptr;
    require(statistics, "statistics");
    require(classes, "classes");
    require(options, "options");
    const Dataset data = classes_from(read_struct(classes, PARSNETS_ARRAYS_INIT, "parsnets_arrays"));
    const unsigned wanted = checked_threads(threads);
    CallbackObserver observer(progress, user);
    const BlasGuard turn;
    ThreadPool pool(wanted);
    *model = new parsnets_model(
        train_from_statistics(statistics->sums, data, options->settings.options(), pool, observer.get()));
  });
}
