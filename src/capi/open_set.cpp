// Unknown samples and prediction sets behind parsnets.h.

#include "parsnets/open_set.hpp"

#include <fmt/format.h>

#include "capi/handles.hpp"
#include "eval/open_set.hpp"
#include "parsnets/error.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

Ranking ranking_of(const Model& model, const std::int32_t* candidates, std::size_t count) {
  if (candidates == nullptr) return Ranking(model);
  return Ranking(model, std::vector<std::int32_t>(candidates, candidates + count));
}

parsnets_accepted_share share_of(const AcceptedShare& share) {
  const Interval& interval = share.of_classes;
  return {share.samples, share.classes, share.accepted, {interval.mean, interval.low, interval.high}};
}

parsnets_open_set_quality quality_of(const OpenSetQuality& of) { return {of.auroc, of.fpr95, of.oscr}; }

void write_no_class(const std::vector<NoClassInputs>& kinds, const parsnets_open_set_evaluation_options& options) {
  if (options.no_class == nullptr) return;
  if (kinds.size() > options.no_class_capacity)
    throw Error(ErrorCode::usage, fmt::format("no_class_capacity: expected at least {}, found {}", kinds.size(),
                                              options.no_class_capacity));
  for (std::size_t i = 0; i < kinds.size(); ++i)
    options.no_class[i] = {kinds[i].name.data(), kinds[i].inputs, kinds[i].rejected, kinds[i].auroc};
  *options.no_class_count = kinds.size();
}

}  // namespace

void parsnets::capi::throw_not_calibrated(const char* what) {
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected a model that is calibrated for them; calibrate it on the data "
                          "set it was trained on, or train it with {}",
                          what, option_name("false-accept")));
}

parsnets_status parsnets_model_calibrate_open_set(parsnets_model* model, const parsnets_dataset* dataset,
                                                  const parsnets_open_set_options* options, uint32_t threads,
                                                  parsnets_progress_function progress, void* user) {
  return guarded([&] {
    require({{model, "model"}, {dataset, "dataset"}});
    const auto given = read_struct(options, PARSNETS_OPEN_SET_OPTIONS_INIT, "parsnets_open_set_options");
    check_reserved(given.reserved, "parsnets_open_set_options");
    const OpenSetOptions wanted{given.false_accept, given.folds, given.seed, given.memory_limit};
    Work work(threads, progress, user);
    calibrate_open_set(model->model, dataset->data, wanted, work.pool, work.progress());
    model->record_changed();
  });
}

parsnets_status parsnets_model_get_open_set(const parsnets_model* model, parsnets_open_set* open_set) {
  return guarded([&] {
    require({{model, "model"}, {open_set, "open_set"}});
    parsnets_open_set known{};
    known.has_rejection = model->model.rejection.empty() ? 0 : 1;
    known.has_sets = model->model.sets.empty() ? 0 : 1;
    known.false_accept = model->model.rejection.false_accept;
    if (const auto& record = model->model.record.rejection) {
      known.folds = record->folds;
      known.classes = record->classes;
      known.samples = record->samples;
      known.accept_low = record->accept_low;
      known.accept_high = record->accept_high;
      known.rejected_seen = record->rejected_seen;
      known.rejected_unseen = record->rejected_unseen;
      known.auroc = record->auroc;
      known.confidence_auroc = record->confidence_auroc;
    }
    write_struct(open_set, known, "parsnets_open_set");
  });
}

parsnets_status parsnets_predict_known(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                       const int32_t* candidates, size_t count, uint32_t threads, int32_t* classes,
                                       float* confidences, float* known_scores, uint8_t* unknown) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, classes, "classes", 1);
    const Rejection& rejection = model->model.rejection;
    if (rejection.empty()) throw_not_calibrated("unknown samples");
    const Ranking ranking = ranking_of(model->model, candidates, count);
    Work work(threads_for(input));
    const std::size_t most = batch_of(input, sizeof(RankedClass) + sizeof(Evidence));
    std::vector<RankedClass> best(most);
    std::vector<Evidence> evidence(most);
    for_each_batch(input, most, [&](std::size_t first, MatrixView<const float> rows) {
      model->predictor().rank(rows, ranking, work.pool, std::span(best).first(rows.rows()),
                              std::span(evidence).first(rows.rows()));
      for (std::size_t r = 0; r < rows.rows(); ++r) {
        const bool seen = model->model.classes.seen[static_cast<std::size_t>(best[r].class_index)] != 0;
        classes[first + r] = best[r].class_index;
        if (confidences != nullptr) confidences[first + r] = best[r].confidence;
        if (known_scores != nullptr) known_scores[first + r] = rejection.known_score(evidence[r], seen);
        if (unknown != nullptr) unknown[first + r] = rejection.is_unknown(evidence[r], seen) ? 1 : 0;
      }
    });
  });
}

parsnets_status parsnets_predict_sets(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                      double coverage, uint32_t threads, int32_t* members, size_t* counts,
                                      size_t classes) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, members, "members", classes);
    require(counts, "counts");
    const Model& own = model->model;
    check_count("classes", own.classes.names.size(), classes);
    if (own.sets.empty()) throw_not_calibrated("prediction sets");
    const std::vector<float> thresholds = own.sets.thresholds(coverage, own.classes.seen);
    const Ranking ranking(own);
    Work work(threads_for(input));
    const std::size_t most = batch_of(input, sizeof(float) * classes);
    Matrix<float> scores(most, classes);
    for_each_batch(input, most, [&](std::size_t first, MatrixView<const float> rows) {
      model->predictor().scores(rows, work.pool, {scores.data(), rows.rows(), classes});
      work.pool.parallel_for(rows.rows(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) {
          const std::vector<RankedClass> set = ranking.set(scores.row(r), thresholds);
          std::int32_t* out = members + (first + r) * classes;
          for (const RankedClass& one : set) *out++ = one.class_index;
          std::fill(out, members + (first + r + 1) * classes, -1);
          counts[first + r] = set.size();
        }
      });
    });
  });
}

parsnets_status parsnets_evaluate_open_set(const parsnets_model* model, const parsnets_dataset* dataset,
                                           const parsnets_open_set_evaluation_options* options, uint32_t threads,
                                           parsnets_progress_function progress, void* user,
                                           parsnets_open_set_evaluation* evaluation) {
  return guarded([&] {
    require({{model, "model"}, {dataset, "dataset"}, {evaluation, "evaluation"}});
    check_struct_size(evaluation->size, "parsnets_open_set_evaluation");
    const auto given =
        read_struct(options, PARSNETS_OPEN_SET_EVALUATION_OPTIONS_INIT, "parsnets_open_set_evaluation_options");
    if (given.no_class != nullptr) require(given.no_class_count, "no_class_count");
    if (model->model.rejection.empty()) throw_not_calibrated("unknown samples");
    OpenSetEvaluationOptions wanted;
    wanted.inputs = given.inputs;
    wanted.seed = given.seed;
    if (given.unknown_classes != nullptr)
      wanted.unknown_classes = distinct_names(given.unknown_classes, given.unknown_count, "unknown_classes");
    Work work(threads, progress, user);
    const OpenSetEvaluation result = evaluate_open_set(model->model, dataset->data, wanted, work.pool, work.progress());
    write_no_class(result.no_class, given);
    write_struct(
        evaluation,
        {0, result.turns.size(), share_of(result.known_seen), share_of(result.known_unseen), share_of(result.unknown),
         result.known_right, quality_of(result.by_known_score), quality_of(result.by_confidence)},
        "parsnets_open_set_evaluation");
  });
}
