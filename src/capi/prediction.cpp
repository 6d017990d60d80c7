// Scores, confidences, best classes, semantics and explanations behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

void check_k(std::size_t k, const Ranking& ranking) {
  if (k < 1 || k > ranking.candidates().size())
    throw Error(ErrorCode::usage,
                fmt::format("argument 'k': expected 1 to {}, the number of competing classes, found {}",
                            ranking.candidates().size(), k));
}

/// Best classes of samples from `first` on.
void write_ranked(std::span<const RankedClass> best, std::size_t first, const RankedOutput& out) {
  for (std::size_t i = 0, place = first * out.k; i < best.size(); ++i, ++place) {
    out.classes[place] = best[i].class_index;
    if (out.scores != nullptr) out.scores[place] = best[i].score;
    if (out.confidences != nullptr) out.confidences[place] = best[i].confidence;
  }
}

void rank_samples(const parsnets_model& model, const Samples& input, const Ranking& ranking, const RankedOutput& out) {
  check_k(out.k, ranking);
  const BlasGuard turn;
  ThreadPool pool(threads_for(input));
  const std::size_t most = std::min(input.count, batch_of(sizeof(RankedClass) * out.k));
  std::vector<RankedClass> best(most * out.k);
  for_each_batch(input, std::max<std::size_t>(most, 1), [&](std::size_t first, MatrixView<const float> rows) {
    const auto part = std::span(best).first(rows.rows() * out.k);
    model.predictor().rank(rows, ranking, pool, part, out.confidences != nullptr);
    write_ranked(part, first, out);
  });
}

/// All scores, straight into the memory of the caller.
void score_samples(const parsnets_model& model, const Samples& input, float* scores, ThreadPool& pool) {
  const std::size_t classes = model.model.classes.names.size();
  model.predictor().scores({input.x, input.count, input.dimensions}, pool, {scores, input.count, classes});
}

std::int32_t checked_among(std::int32_t among) {
  if (among != PARSNETS_ALL && among != PARSNETS_SEEN && among != PARSNETS_UNSEEN)
    throw Error(ErrorCode::usage, fmt::format("argument 'among': expected 0 to 2, found {}", among));
  return among;
}

}  // namespace

void parsnets::capi::rank_batches(const Samples& input, const Ranking& ranking, const Predict& scores,
                                  const RankedOutput& out) {
  check_k(out.k, ranking);
  const BlasGuard turn;
  ThreadPool pool(threads_for(input));
  for_each_batch(input, batch_of(sizeof(float) * ranking.classes()),
                 [&](std::size_t first, MatrixView<const float> rows) {
                   const Matrix<float> result = scores(rows, pool);
                   pool.parallel_for(result.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
                     std::vector<RankedClass> best(out.k);
                     for (std::size_t r = begin; r < end; ++r) {
                       ranking.best(result.row(r), best);
                       write_ranked(best, first + r, out);
                     }
                   });
                 });
}

parsnets_status parsnets_predict_scores(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                        uint32_t threads, float* scores, size_t classes) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, scores, "scores", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    const BlasGuard turn;
    ThreadPool pool(threads_for(input));
    score_samples(*model, input, scores, pool);
  });
}

parsnets_status parsnets_predict_confidences(const parsnets_model* model, const float* x, size_t samples,
                                             size_t dimensions, uint32_t threads, float* confidences, size_t classes) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, confidences, "confidences", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    const Ranking ranking(model->model);
    const BlasGuard turn;
    ThreadPool pool(threads_for(input));
    score_samples(*model, input, confidences, pool);
    pool.parallel_for(samples, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r) ranking.to_confidences({confidences + r * classes, classes});
    });
  });
}

parsnets_status parsnets_predict_top(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                     int32_t among, size_t k, uint32_t threads, int32_t* classes, float* confidences) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, classes, "classes", k);
    const Ranking ranking(model->model, static_cast<Among>(checked_among(among)));
    rank_samples(*model, input, ranking, {k, classes, nullptr, confidences});
  });
}

parsnets_status parsnets_rank(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                              const int32_t* candidates, size_t count, size_t k, uint32_t threads, int32_t* classes,
                              float* scores, float* confidences) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, classes, "classes", k);
    require(candidates, "candidates");
    const Ranking ranking(model->model, std::vector<std::int32_t>(candidates, candidates + count));
    rank_samples(*model, input, ranking, {k, classes, scores, confidences});
  });
}

parsnets_status parsnets_predict_semantics(const parsnets_model* model, const float* x, size_t samples,
                                           size_t dimensions, uint32_t threads, float* semantics, size_t attributes) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, semantics, "semantics", attributes);
    check_count("attributes", model->model.attributes(), attributes);
    const BlasGuard turn;
    ThreadPool pool(threads_for(input));
    for_each_batch(input, batch_of(sizeof(float) * std::max<std::size_t>(attributes, 1)),
                   [&](std::size_t first, MatrixView<const float> rows) {
                     const Matrix<float> result = model->model.predict_semantics(rows, pool);
                     std::ranges::copy(result.values(), semantics + first * attributes);
                   });
  });
}

parsnets_status parsnets_explain(const parsnets_model* model, const float* x, size_t dimensions,
                                 parsnets_explanation* explanation, float* contributions, float* semantics,
                                 size_t attributes, int32_t* open_networks, size_t open) {
  return guarded([&] {
    check_samples(model, {x, 1, dimensions, 1}, explanation, "explanation", attributes);
    check_struct_size(explanation->size, "parsnets_explanation");
    if (contributions != nullptr || semantics != nullptr)
      check_count("attributes", model->model.attributes(), attributes);
    if (open_networks != nullptr) check_count("open", model->model.gates.open, open);
    const BlasGuard turn;
    ThreadPool pool(1);
    const Explanation why = explain(model->model, {x, dimensions}, model->predictor().classes(), pool);
    if (contributions != nullptr)
      for (const auto& c : why.attributes) contributions[c.index] = static_cast<float>(c.amount);
    if (semantics != nullptr) std::copy(why.predicted.begin(), why.predicted.end(), semantics);
    if (open_networks != nullptr) std::copy(why.open_networks.begin(), why.open_networks.end(), open_networks);
    parsnets_explanation known{};
    known.winner = why.winner;
    known.runner_up = why.runner_up;
    known.winner_score = why.winner_score;
    known.runner_up_score = why.runner_up_score;
    known.calibration = why.calibration;
    known.examples = why.examples;
    write_struct(explanation, known, "parsnets_explanation");
  });
}
