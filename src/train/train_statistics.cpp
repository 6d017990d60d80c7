// Training from statistics: what train() does for the closed form of class space, without samples.

#include "train/train_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/machine.hpp"
#include "data/feature_source.hpp"
#include "data/sample_set.hpp"
#include "data/semantics.hpp"
#include "eval/scoring.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"
#include "train/fitter.hpp"
#include "train/place_classes.hpp"
#include "train/provenance.hpp"
#include "train/scale_gamma.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// The statistics with the classes of the data set, in its order.
Statistics with_classes_of(const Dataset& data, const Statistics& given) {
  for (std::size_t c = 0; c < given.class_names().size(); ++c)
    if (given.class_weights()[c] > 0 &&
        std::ranges::find(data.class_names, given.class_names()[c]) == data.class_names.end())
      throw Error(BadInput{data.name, "classes", "the classes of the statistics",
                           "none named '" + given.class_names()[c] + "'",
                           "use the data set whose samples the statistics were made of"});
  Statistics made(given.options(), data.class_names, given.dimensions());
  made.merge(given);
  for (const auto c : data.unseen_classes())
    if (made.class_weights()[static_cast<std::size_t>(c)] > 0)
      throw Error(BadInput{data.name, "split", "unseen classes without samples in the statistics",
                           fmt::format("samples of '{}'", data.class_names[static_cast<std::size_t>(c)]),
                           "make the statistics with the split of this data set"});
  return made;
}

/// Options that statistics cannot serve are refused; what is left empty suits them.
TrainOptions closed_form_options(const TrainOptions& given, const Statistics& statistics) {
  const auto* asked = std::get_if<ParsNetsOptions>(&given.method);
  TrainOptions o = given;
  ParsNetsOptions method = asked == nullptr ? ParsNetsOptions() : *asked;
  if (method.feature_scaling == FeatureScaling::by_sign) method.feature_scaling = statistics.scaling();
  if (method.shrinkage == kBySize) method.shrinkage = default_shrinkage(statistics.dimensions(), statistics.weight());
  method.networks = method.refine_steps = 0;
  method.active = method.encoding = 1;
  o.method = method;
  o.search = {};
  std::string found;
  const OptionTable uses = train_option_table(o);
  for (const auto& [name, value] : changed_options(given))
    if (const Option* used = uses.find(name);
        used == nullptr || (name != "memory-limit" && value_text(*used) != value) || name == "false-accept")
      found += (found.empty() ? "" : ", ") + option_name(name);
  if (!given.run.checkpoint.empty()) found += (found.empty() ? "" : ", ") + option_name("checkpoint");
  if (!found.empty())
    throw Error(ErrorCode::usage,
                fmt::format("training from statistics: expected no options that need samples, found {}; it fits the "
                            "closed form of class space ({}, {})",
                            found, option_name("networks", "0"), option_name("refine-steps", "0")));
  return o;
}

/// 1/deviation of each feature over all samples. Below the precision of the products a feature counts as constant.
std::vector<float> standardizing_factor(const Statistics& statistics) {
  constexpr double kConstant = 1e-6;
  const double total = statistics.weight();
  std::vector<float> factor;
  for (std::size_t j = 0; j < statistics.dimensions(); ++j) {
    double sum = 0, square = 0;
    for (std::size_t c = 0; c < statistics.class_sums().rows(); ++c) sum += statistics.class_sums()(c, j);
    for (const auto& products : statistics.group_products()) square += products(j, j);
    const double variance = square / total - sum / total * (sum / total);
    factor.push_back(variance > kConstant * square / total ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f);
  }
  return factor;
}

/// How features are prepared for samples with these sums: scaled, centred and, for standardize, divided by their
/// deviation.
FeaturePreprocess feature_preprocess_of(const Statistics& statistics, FeatureScaling scaling) {
  FeaturePreprocess made;
  made.scaling = scaling;
  if (scaling == FeatureScaling::standardize) made.factor = standardizing_factor(statistics);
  std::vector<double> mean(statistics.dimensions(), 0.0);
  const double total = statistics.weight();
  for (std::size_t c = 0; c < statistics.class_sums().rows(); ++c)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += statistics.class_sums()(c, j) / total;
  made.mean.assign(mean.begin(), mean.end());
  return made;
}

/// One linear map, places and attribute head of the classes that have samples; no calibration yet. The classes of
/// `statistics` are those of `data`, in its order; of `data` only class names and semantics are read.
Model fit_statistics(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& o, ThreadPool& pool) {
  FeaturePreprocess preprocess = feature_preprocess_of(statistics, o.feature_scaling);
  const ClassSpace space(statistics, pool, preprocess.factor);
  ClassMap map = space.solve(o.shrinkage, pool);
  Model model = start_model(data, statistics.dimensions(), space.classes());
  model.feature_preprocess = std::move(preprocess);
  model.targets = Targets::classes;
  std::vector<float> bias(map.weights.cols(), 0.0f);
  set_linear_map(model, {std::move(map.weights), std::move(bias)});
  const ClassMeans means{space.classes(), space.weights(), std::move(map.means)};
  model.semantic_preprocess = fit_place_semantics(o, data.semantics, means);
  place_classes(model, means, o);
  fit_attribute_head(model, means);
  return model;
}

/// The means of the seen classes that a model was placed by.
ClassMeans means_of(const Model& model) {
  ClassMeans means;
  for (std::size_t c = 0; c < model.classes.samples.size(); ++c)
    if (model.classes.samples[c] > 0) {
      means.classes.push_back(static_cast<std::int32_t>(c));
      means.samples.push_back(model.classes.samples[c]);
    }
  means.means = Matrix<double>(means.classes.size(), model.outputs());
  for (std::size_t s = 0; s < means.classes.size(); ++s)
    std::ranges::copy(model.classes.means.row(static_cast<std::size_t>(means.classes[s])), means.means.row(s).begin());
  return means;
}

/// Calls visit(fold) for every group of classes that can be held out; returns how many there are.
template <class Visit>
std::size_t visit_folds(const Statistics& statistics, const char* stage, ThreadPool& pool, ProgressObserver* progress,
                        const Visit& visit) {
  const std::size_t groups = statistics.options().groups;
  std::size_t folds = 0;
  for (std::size_t g = 0; groups > 1 && g < groups; ++g) {
    report(progress, {stage, g, groups, "fits"});
    auto made = statistics_fold(statistics, g, pool);
    if (!made || made->fold.seen.empty()) continue;
    visit(*made);
    ++folds;
  }
  return folds;
}

/// Weights of several tables, by the mean over the groups; equal ones without groups to validate on. A group is fitted
/// once for all weights, which change the places of classes alone.
ChosenWeights choose_weights(const Statistics& statistics, const Dataset& data, const TrainOptions& given,
                             ThreadPool& pool, ProgressObserver* progress, std::vector<std::string>& warnings) {
  const std::size_t tables = data.semantics.tables.size();
  auto o = std::get<ParsNetsOptions>(given.method);
  std::size_t folds = 0;
  const auto judge = [&](const std::vector<TableWeights>& weights) {
    std::vector<SelectionStep> steps;
    for (const auto& w : weights) steps.push_back({"semantic-weights=" + weights_text(w), 0, 0});
    folds = visit_folds(statistics, "select", pool, progress, [&](const StatisticsFold& made) {
      Model model = fit_statistics(made.fit, data, o, pool);
      const ClassMeans means = means_of(model);
      const std::vector<float> centre = model.semantic_centre;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        o.semantics.weights = weights[i];
        model.semantic_preprocess = fit_semantic_preprocess(o.semantics, data.semantics, means.classes, true);
        place_classes(model, means, o);
        model.semantic_centre = centre;  // the means are measured from it
        const FoldResult result = evaluate_fold(model, made.samples, made.fold, pool);
        steps[i].zsl += result.zsl;
        steps[i].h += result.h;
      }
    });
    for (auto& step : steps) {
      step.zsl /= static_cast<double>(std::max<std::size_t>(1, folds));
      step.h /= static_cast<double>(std::max<std::size_t>(1, folds));
    }
    return steps;
  };
  ChosenWeights chosen = search_weights(tables, judge);
  if (folds > 0) return chosen;
  warnings.push_back("the tables of semantics have equal weights: they were not chosen on validation classes");
  return {equal_weights(tables), "", {}};
}

/// Means over the folds, which the record gets as well, gamma scaled; without folds gamma 0 and temperature 1.
FoldResult calibrate(const Statistics& statistics, const Dataset& data, const ParsNetsOptions& o, ThreadPool& pool,
                     ProgressObserver* progress, TrainRecord& record) {
  std::vector<FoldResult> results;
  std::vector<Fold> folds;
  visit_folds(statistics, "calibrate", pool, progress, [&](StatisticsFold& made) {
    results.push_back(evaluate_fold(fit_statistics(made.fit, data, o, pool), made.samples, made.fold, pool));
    folds.push_back(std::move(made.fold));
  });
  if (folds.empty()) {
    record.warnings.push_back(
        "no calibration: the statistics have no groups of classes with kept rows to validate on, so gamma is 0 and the "
        "temperature 1");
    return {};
  }
  warn_of_single_classes(folds, record.warnings);
  FoldResult mean{0, 0, 0, 0};
  const double share = 1.0 / static_cast<double>(results.size());
  for (const FoldResult& result : results) {
    mean.zsl += share * result.zsl;
    mean.h += share * result.h;
    mean.gamma += share * result.gamma;
    mean.temperature += share * result.temperature;
  }
  std::vector<std::int32_t> seen;
  for (std::size_t c = 0; c < statistics.class_names().size(); ++c)
    if (statistics.class_weights()[c] > 0) seen.push_back(static_cast<std::int32_t>(c));
  mean.gamma = scale_gamma(mean.gamma, folds, seen, data, o.semantics);
  record.validation = {"validation classes", folds.size(),
                       fmt::format("{} groups of classes of the statistics", folds.size()), mean.zsl, mean.h};
  return mean;
}

}  // namespace

std::optional<StatisticsFold> statistics_fold(const Statistics& statistics, std::size_t group, ThreadPool& pool) {
  constexpr double kHeldOut = 0.2;
  const auto& names = statistics.class_names();
  StatisticsFold made;
  std::vector<const KeptRow*> tests;
  std::vector<double> weights;
  const auto take = [&](std::size_t c, const KeptRow& row, std::vector<std::int32_t>& list) {
    list.push_back(static_cast<std::int32_t>(tests.size()));
    tests.push_back(&row);
    made.samples.labels.push_back(static_cast<std::int32_t>(c));
  };
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (statistics.class_weights()[c] <= 0) continue;
    if (Statistics::group_of(names[c], statistics.options().groups) == group) {
      for (const KeptRow& row : statistics.kept_rows()[c]) take(c, row, made.fold.unseen);
      continue;
    }
    made.fold.fit_classes.push_back(static_cast<std::int32_t>(c));
    double left = kHeldOut * statistics.class_weights()[c];
    for (const KeptRow& row : statistics.kept_rows()[c]) {
      if (row.weight > left) break;
      left -= row.weight;
      take(c, row, made.fold.seen);
      weights.push_back(row.weight);
    }
  }
  if (made.fold.unseen.empty() || made.fold.fit_classes.size() < 2) return std::nullopt;
  made.samples.class_names = names;
  made.samples.features = Matrix<float>(tests.size(), statistics.dimensions());
  for (std::size_t r = 0; r < tests.size(); ++r)
    std::ranges::copy(tests[r]->values, made.samples.features.row(r).begin());
  made.fold.held_classes = distinct(labels_of(made.samples, made.fold.unseen));
  made.fit = statistics.without_group(group);
  made.fit.remove(made.samples.features.view(), made.samples.labels, made.fold.seen, pool, weights);
  return made;
}

TrainOptions resolve_options(const TrainOptions& given, const Dataset& data, const Statistics& statistics) {
  TrainOptions resolved = resolve_options(closed_form_options(given, statistics), data);
  const FeatureScaling scaling = feature_scaling_of(resolved.method);
  const bool standardized = scaling == FeatureScaling::standardize && statistics.scaling() == FeatureScaling::none;
  if (scaling != statistics.scaling() && !standardized)
    throw Error(ErrorCode::usage, option_name("feature-scaling") +
                                      ": expected that of the statistics, or standardize for statistics without "
                                      "scaling; make the statistics again to change it");
  validate(resolved);
  return resolved;
}

Model train_from_statistics(const Statistics& given, const Dataset& data, const TrainOptions& options, ThreadPool& pool,
                            ProgressObserver* progress, TrainRun* run, std::vector<StatisticsPart> parts) {
  const auto start = std::chrono::steady_clock::now();
  require_same_source(given.source(), data.source, data.features_file.empty() ? data.name : data.features_file);
  TrainOptions resolved = resolve_options(options, data, given);
  const auto d = static_cast<double>(given.dimensions()), groups = static_cast<double>(given.options().groups);
  require_memory(resolved.run.memory_limit,
                 8 * d * d * (2 * groups + 4) + 32 * d * static_cast<double>(data.classes()) +
                     scoring_bytes(data.classes(), data.classes(), given.dimensions()),
                 "training", "raise the limit or make statistics with fewer groups");
  const Statistics statistics = with_classes_of(data, given);
  TrainRecord record;
  record.warnings = semantic_warnings(data);
  auto& method = std::get<ParsNetsOptions>(resolved.method);
  if (method.semantics.weights.empty()) {
    ChosenWeights weighed = choose_weights(statistics, data, resolved, pool, progress, record.warnings);
    method.semantics.weights = std::move(weighed.weights);
    record.chosen = std::move(weighed.choice);
    record.selection = std::move(weighed.trace);
  }
  FoldResult calibrated;
  if (resolved.calibration.enabled) calibrated = calibrate(statistics, data, method, pool, progress, record);
  report(progress, {"fit", 0, 0, ""});
  Model model = fit_statistics(statistics, data, method, pool);
  model.gamma = calibrated.gamma;
  model.temperature = calibrated.temperature;
  model.options = options_text(resolved);
  record.data = provenance(data, statistics, std::move(parts));
  record.seed = resolved.run.seed;
  record.asked = request_of(options, data);
  model.record = std::move(record);
  if (run != nullptr) {
    run->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run->peak_memory = peak_memory();
  }
  return model;
}

}  // namespace parsnets
