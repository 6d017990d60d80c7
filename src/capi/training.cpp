// Training and evaluation behind parsnets.h.

#include <cmath>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

parsnets_status parsnets_train(const parsnets_dataset* dataset, const parsnets_options* options, uint32_t threads,
                               parsnets_progress_function progress, void* user, parsnets_model** model) {
  return created(model, "model", [&] {
    require({{dataset, "dataset"}, {options, "options"}});
    Work work(threads, progress, user);
    auto* made = new parsnets_model(train(dataset->data, options->settings.options(), work.pool, work.progress()));
    remove_checkpoints(options->settings.run.checkpoint);
    return made;
  });
}

void parsnets::capi::write_evaluation(const Evaluation& result, const Dataset& data, ThreadPool& pool,
                                      parsnets_evaluation* evaluation) {
  parsnets_evaluation known{};
  known.zsl_top1_per_class = result.zsl.top1_per_class;
  known.zsl_top1 = result.zsl.top1;
  known.zsl_top5 = result.zsl.top5;
  known.has_gzsl = result.has_gzsl ? 1 : 0;
  known.u = result.gzsl.u;
  known.s = result.gzsl.s;
  known.h = result.gzsl.h;
  known.ausuc = result.gzsl.ausuc;
  known.gamma = result.gzsl.gamma;
  known.trained_samples = result.trained_samples;
  known.seen_ece = result.details->seen_reliability.ece;
  known.unseen_ece = result.details->unseen_reliability.ece;
  if (evaluation->size > offsetof(parsnets_evaluation, zsl_interval)) {
    const auto intervals = bootstrap_intervals(outcomes_of(data, {&result.details->correct, 1}), pool);
    known.zsl_interval = interval_of(intervals.zsl);
    known.u_interval = interval_of(intervals.u);
    known.s_interval = interval_of(intervals.s);
    known.h_interval = interval_of(intervals.h);
  }
  write_struct(evaluation, known, "parsnets_evaluation");
}

namespace {

void write_curve(const std::vector<TradeOff>& curve, const parsnets_evaluate_options& options) {
  if (options.curve == nullptr) return;
  if (curve.size() > options.curve_capacity)
    throw Error(ErrorCode::usage, "curve_capacity: expected at least " + std::to_string(curve.size()) + ", found " +
                                      std::to_string(options.curve_capacity));
  double* out = options.curve;
  for (const auto& [gamma, u, s] : curve)
    for (const double value : {gamma, u, s}) *out++ = value;
  *options.curve_points = curve.size();
}

std::span<const double> checked_coverages(const parsnets_evaluate_options& options, const Model& model) {
  if (options.coverages == nullptr) return {};
  require(options.sets, "sets");
  if (model.sets.empty()) throw_not_calibrated("prediction sets");
  for (std::size_t i = 0; i < options.coverage_count; ++i)
    model.sets.thresholds(options.coverages[i], model.classes.seen);
  return {options.coverages, options.coverage_count};
}

void write_confidences(const Evaluation& result, const parsnets_evaluate_options& options) {
  double* out = options.sets;
  for (const SetResult& set : result.details->sets)
    for (const SetSide& side : {set.seen, set.unseen})
      for (const double value : {side.coverage, side.size}) *out++ = value;
  if (options.reliability == nullptr) return;
  constexpr std::size_t kBins = PARSNETS_RELIABILITY_BINS;
  std::fill_n(options.reliability, 2 * 3 * kBins, 0.0);
  out = options.reliability;
  for (const Reliability* side : {&result.details->seen_reliability, &result.details->unseen_reliability}) {
    double* value = out;
    for (const ReliabilityBin& bin : std::span(side->bins).first(std::min(side->bins.size(), kBins)))
      for (const double one : {static_cast<double>(bin.samples), bin.confidence, bin.accuracy}) *value++ = one;
    out += 3 * kBins;
  }
}

void write_accuracies(std::initializer_list<const std::vector<ClassAccuracy>*> lists, std::size_t classes,
                      double* out) {
  if (out == nullptr) return;
  std::fill_n(out, classes, std::nan(""));
  for (const auto* list : lists)
    for (const auto& one : *list) out[static_cast<std::size_t>(one.class_index)] = one.top1;
}

Outcomes outcomes_from(const parsnets_outcomes* given, const char* name) {
  require(given, name);
  const auto known = read_struct(given, parsnets_outcomes{}, "parsnets_outcomes");
  check_reserved(known.reserved, "parsnets_outcomes");
  const auto list = [](const auto* values, std::size_t count, const char* field) {
    if (count > 0) require(values, field);
    return std::vector(values, values + count);
  };
  const bool gzsl = known.seen_samples > 0;
  return {known.runs,
          list(known.unseen_labels, known.unseen_samples, "unseen_labels"),
          list(known.seen_labels, known.seen_samples, "seen_labels"),
          list(known.zsl, known.unseen_samples, "zsl"),
          list(known.unseen, gzsl ? known.unseen_samples : 0, "unseen"),
          list(known.seen, known.seen_samples, "seen")};
}

UncertaintyOptions options_from(const parsnets_uncertainty_options* given) {
  const auto known = read_struct(given, PARSNETS_UNCERTAINTY_OPTIONS_INIT, "parsnets_uncertainty_options");
  return {known.replicates, known.draws, known.seed};
}

parsnets_difference difference_of(const PairedDifference& result) {
  return {interval_of(result.difference), result.p, result.exact ? 1 : 0, 0};
}

}  // namespace

parsnets_status parsnets_evaluate(const parsnets_model* model, const parsnets_dataset* dataset,
                                  const parsnets_evaluate_options* options, uint32_t threads,
                                  parsnets_progress_function progress, void* user, parsnets_evaluation* evaluation) {
  return guarded([&] {
    require({{model, "model"}, {dataset, "dataset"}, {evaluation, "evaluation"}});
    check_struct_size(evaluation->size, "parsnets_evaluation");
    const auto given = read_struct(options, PARSNETS_EVALUATE_OPTIONS_INIT, "parsnets_evaluate_options");
    if (given.zsl != nullptr || given.gzsl != nullptr || given.confusion != nullptr)
      check_count("classes", dataset->data.classes(), given.classes);
    if (given.curve != nullptr) require(given.curve_points, "curve_points");
    check_reserved(given.reserved, "parsnets_evaluate_options");
    const auto coverages = checked_coverages(given, model->model);
    Work work(threads, progress, user);
    const Evaluation result = evaluate(model->model, dataset->data, work.pool, work.progress(),
                                       given.allow_trained_samples != 0, nullptr, coverages);
    write_curve(result.gzsl.curve, given);
    write_confidences(result, given);
    write_evaluation(result, dataset->data, work.pool, evaluation);
    write_accuracies({&result.zsl.classes}, given.classes, given.zsl);
    write_accuracies({&result.gzsl.seen_classes, &result.gzsl.unseen_classes}, given.classes, given.gzsl);
    if (given.confusion == nullptr) return;
    std::fill_n(given.confusion, given.classes * given.classes, 0u);
    for (const auto& [label, predicted, samples] : result.details->confusion)
      given.confusion[static_cast<size_t>(label) * given.classes + static_cast<size_t>(predicted)] = samples;
  });
}

// Intervals and paired comparisons behind parsnets.h.

parsnets_interval parsnets::capi::interval_of(const BootstrapInterval& interval) {
  return {interval.estimate, interval.low, interval.high};
}

parsnets_status parsnets_bootstrap_intervals(const parsnets_outcomes* outcomes,
                                             const parsnets_uncertainty_options* options, uint32_t threads,
                                             parsnets_intervals* intervals) {
  return guarded([&] {
    require(intervals, "intervals");
    check_struct_size(intervals->size, "parsnets_intervals");
    ThreadPool pool(checked_threads(threads));
    const auto found = bootstrap_intervals(outcomes_from(outcomes, "outcomes"), pool, options_from(options));
    write_struct(intervals,
                 {0, interval_of(found.zsl), interval_of(found.u), interval_of(found.s), interval_of(found.h)},
                 "parsnets_intervals");
  });
}

parsnets_status parsnets_compare_paired(const parsnets_outcomes* first, const parsnets_outcomes* second,
                                        const parsnets_uncertainty_options* options, uint32_t threads,
                                        parsnets_comparison* comparison) {
  return guarded([&] {
    require(comparison, "comparison");
    check_struct_size(comparison->size, "parsnets_comparison");
    ThreadPool pool(checked_threads(threads));
    const auto found =
        compare_paired(outcomes_from(first, "first"), outcomes_from(second, "second"), pool, options_from(options));
    parsnets_comparison known{};
    known.zsl = difference_of(found.zsl);
    if (found.has_gzsl) {
      known.u = difference_of(found.u);
      known.s = difference_of(found.s);
      known.h = difference_of(found.h);
    }
    write_struct(comparison, known, "parsnets_comparison");
  });
}
