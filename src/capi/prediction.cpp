// Scores, confidences, best classes, semantics and explanations behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

constexpr std::size_t kBatch = 2048;  // bounds the memory of a call with many samples
constexpr std::size_t kFew = 128;     // samples; products are not shared out below, so that threads would idle

using Take = std::function<void(std::size_t first, Matrix<float>& result, ThreadPool& pool)>;

/// Calls `predict` for batches of rows and hands each result on.
void for_each_batch(const Samples& input, const Predict& predict, const Take& take) {
  const BlasGuard turn;
  ThreadPool pool(input.count <= kFew ? 1 : input.threads);
  for (std::size_t first = 0; first < input.count; first += kBatch) {
    const std::size_t rows = std::min(kBatch, input.count - first);
    Matrix<float> result = predict({input.x + first * input.dimensions, rows, input.dimensions}, pool);
    take(first, result, pool);
  }
}

Predict scores_of(const parsnets_model& model) {
  return
      [&model](MatrixView<const float> x, ThreadPool& pool) { return model.model.scores(x, model.prepared(), pool); };
}

/// Copies rows as they come to `output`, one after the other.
Take copy_to(float* output) {
  return [output](std::size_t first, Matrix<float>& result, ThreadPool&) {
    std::copy(result.values().begin(), result.values().end(), output + first * result.cols());
  };
}

std::int32_t checked_among(std::int32_t among) {
  if (among != PARSNETS_ALL && among != PARSNETS_SEEN && among != PARSNETS_UNSEEN)
    throw Error(ErrorCode::usage, fmt::format("argument 'among': expected 0 to 2, found {}", among));
  return among;
}

}  // namespace

void parsnets::capi::rank_batches(const Samples& input, const Ranking& ranking, const Predict& scores,
                                  const RankedOutput& out) {
  const std::size_t k = out.k;
  if (k < 1 || k > ranking.candidates().size())
    throw Error(ErrorCode::usage,
                fmt::format("argument 'k': expected 1 to {}, the number of competing classes, found {}",
                            ranking.candidates().size(), k));
  for_each_batch(input, scores, [&](std::size_t first, Matrix<float>& result, ThreadPool& pool) {
    pool.parallel_for(result.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<RankedClass> best(k);
      for (std::size_t r = begin; r < end; ++r) {
        ranking.best(result.row(r), best);
        for (std::size_t i = 0, place = (first + r) * k; i < k; ++i, ++place) {
          out.classes[place] = best[i].class_index;
          if (out.scores != nullptr) out.scores[place] = best[i].score;
          if (out.confidences != nullptr) out.confidences[place] = best[i].confidence;
        }
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
    for_each_batch(input, scores_of(*model), copy_to(scores));
  });
}

parsnets_status parsnets_predict_confidences(const parsnets_model* model, const float* x, size_t samples,
                                             size_t dimensions, uint32_t threads, float* confidences, size_t classes) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, confidences, "confidences", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    const Ranking ranking(model->model);
    for_each_batch(input, scores_of(*model), [&](std::size_t first, Matrix<float>& result, ThreadPool& pool) {
      pool.parallel_for(result.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) ranking.to_confidences(result.row(r));
      });
      copy_to(confidences)(first, result, pool);
    });
  });
}

parsnets_status parsnets_predict_top(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                     int32_t among, size_t k, uint32_t threads, int32_t* classes, float* confidences) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, classes, "classes", k);
    const Ranking ranking(model->model, static_cast<Among>(checked_among(among)));
    rank_batches(input, ranking, scores_of(*model), {k, classes, nullptr, confidences});
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
    rank_batches(input, ranking, scores_of(*model), {k, classes, scores, confidences});
  });
}

parsnets_status parsnets_predict_semantics(const parsnets_model* model, const float* x, size_t samples,
                                           size_t dimensions, uint32_t threads, float* semantics, size_t attributes) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, semantics, "semantics", attributes);
    check_count("attributes", model->model.attributes(), attributes);
    for_each_batch(
        input,
        [&](MatrixView<const float> rows, ThreadPool& pool) { return model->model.predict_semantics(rows, pool); },
        copy_to(semantics));
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
    const Explanation why = explain(model->model, {x, dimensions}, model->prepared(), pool);
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
