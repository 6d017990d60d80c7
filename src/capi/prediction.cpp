// Scores, confidences, best classes, semantics and explanations behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

void rank_samples(const parsnets_model& model, const Samples& input, const Ranking& ranking, const RankedOutput& out) {
  const auto rank = [&](MatrixView<const float> rows, ThreadPool& pool, std::span<RankedClass> best) {
    model.predictor().rank(rows, ranking, pool, best, out.confidences != nullptr);
  };
  rank_batches(input, ranking, sizeof(RankedClass) * out.k, rank, out);
}

/// All scores, straight into the memory of the caller.
void score_samples(const parsnets_model& model, const Samples& input, float* scores, ThreadPool& pool) {
  const std::size_t classes = model.model.classes.names.size();
  model.predictor().scores(input.view(), pool, {scores, input.count, classes});
}

}  // namespace

void parsnets::capi::rank_batches(const Samples& input, const Ranking& ranking, std::size_t bytes, const Rank& rank,
                                  const RankedOutput& out) {
  if (out.k < 1 || out.k > ranking.candidates().size())
    throw Error(ErrorCode::usage,
                fmt::format("argument 'k': expected 1 to {}, the number of competing classes, found {}",
                            ranking.candidates().size(), out.k));
  Work work(threads_for(input));
  const std::size_t most = batch_of(input, bytes);
  std::vector<RankedClass> best(most * out.k);
  for_each_batch(input, most, [&](std::size_t first, MatrixView<const float> rows) {
    const auto part = std::span(best).first(rows.rows() * out.k);
    rank(rows, work.pool, part);
    for (std::size_t i = 0, place = first * out.k; i < part.size(); ++i, ++place) {
      out.classes[place] = part[i].class_index;
      if (out.scores != nullptr) out.scores[place] = part[i].score;
      if (out.confidences != nullptr) out.confidences[place] = part[i].confidence;
    }
  });
}

parsnets_status parsnets_predict_scores(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                        uint32_t threads, float* scores, size_t classes) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, scores, "scores", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    Work work(threads_for(input));
    score_samples(*model, input, scores, work.pool);
  });
}

parsnets_status parsnets_predict_confidences(const parsnets_model* model, const float* x, size_t samples,
                                             size_t dimensions, uint32_t threads, float* confidences, size_t classes) {
  return guarded([&] {
    const Samples input =
        checked_samples(model, {x, samples, dimensions, threads}, confidences, "confidences", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    const Ranking ranking(model->model);
    Work work(threads_for(input));
    score_samples(*model, input, confidences, work.pool);
    work.pool.parallel_for(samples, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) ranking.to_confidences({confidences + r * classes, classes});
    });
  });
}

parsnets_status parsnets_predict_top(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                     int32_t among, size_t k, uint32_t threads, int32_t* classes, float* confidences) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, classes, "classes", k);
    const Ranking ranking(model->model,
                          static_cast<Among>(checked("argument 'among'", among, PARSNETS_ALL, PARSNETS_UNSEEN)));
    rank_samples(*model, input, ranking, {k, classes, nullptr, confidences});
  });
}

parsnets_status parsnets_rank(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                              const int32_t* candidates, size_t count, size_t k, uint32_t threads, int32_t* classes,
                              float* scores, float* confidences) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, classes, "classes", k);
    require(candidates, "candidates");
    const Ranking ranking(model->model, std::vector<std::int32_t>(candidates, candidates + count));
    rank_samples(*model, input, ranking, {k, classes, scores, confidences});
  });
}

parsnets_status parsnets_predict_semantics(const parsnets_model* model, const float* x, size_t samples,
                                           size_t dimensions, uint32_t threads, float* semantics, size_t attributes) {
  return guarded([&] {
    const Samples input = checked_samples(model, {x, samples, dimensions, threads}, semantics, "semantics", attributes);
    check_count("attributes", model->model.attributes(), attributes);
    Work work(threads_for(input));
    for_each_batch(input, batch_of(input, sizeof(float) * std::max<std::size_t>(attributes, 1)),
                   [&](std::size_t first, MatrixView<const float> rows) {
                     const Matrix<float> result = model->model.predict_semantics(rows, work.pool);
                     std::ranges::copy(result.values(), semantics + first * attributes);
                   });
  });
}

parsnets_status parsnets_explain(const parsnets_model* model, const float* x, size_t dimensions,
                                 parsnets_explanation* explanation, float* contributions, float* semantics,
                                 size_t attributes, int32_t* open_networks, size_t open) {
  return guarded([&] {
    checked_samples(model, {x, 1, dimensions, 1}, explanation, "explanation", attributes);
    check_struct_size(explanation->size, "parsnets_explanation");
    if (contributions != nullptr || semantics != nullptr)
      check_count("attributes", model->model.attributes(), attributes);
    if (open_networks != nullptr) check_count("open", model->model.gates.open, open);
    Work work(1);
    const Explanation why = explain(model->model, {x, dimensions}, model->predictor().classes(), work.pool);
    if (contributions != nullptr)
      for (const auto& c : why.attributes) contributions[c.index] = static_cast<float>(c.amount);
    if (semantics != nullptr) std::copy(why.predicted.begin(), why.predicted.end(), semantics);
    if (open_networks != nullptr) std::copy(why.open_networks.begin(), why.open_networks.end(), open_networks);
    write_struct(explanation,
                 {0, why.winner, why.runner_up, why.winner_score, why.runner_up_score, why.calibration, why.examples},
                 "parsnets_explanation");
  });
}
