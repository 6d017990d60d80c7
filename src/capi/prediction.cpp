// Scores, confidences, best classes, semantics and explanations behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

constexpr std::size_t kBatch = 2048;  // bounds the memory of a call with many samples
constexpr std::size_t kFew = 128;     // samples; products are not shared out below, so that threads would idle

using Predict = std::function<Matrix<float>(MatrixView<const float> x, ThreadPool& pool)>;
using Take = std::function<void(std::size_t first, Matrix<float>& result, ThreadPool& pool)>;

/// Calls `predict` for batches of rows and hands each result on.
void for_each_batch(const Samples& input, const Predict& predict, const Take& take) {
  const BlasTurn turn;
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

void rows_to_confidences(const Model& model, Matrix<float>& scores, ThreadPool& pool) {
  pool.parallel_for(scores.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) confidences(model, scores.row(r));
  });
}

/// The classes that compete, ascending.
std::vector<std::int32_t> competitors(const Model& model, std::int32_t among) {
  if (among != PARSNETS_ALL && among != PARSNETS_SEEN && among != PARSNETS_UNSEEN)
    throw Error(ErrorCode::usage, fmt::format("argument 'among': expected 0 to 2, found {}", among));
  std::vector<std::int32_t> found;
  for (std::size_t c = 0; c < model.classes.seen.size(); ++c)
    if (among == PARSNETS_ALL || (among == PARSNETS_SEEN) == (model.classes.seen[c] != 0))
      found.push_back(static_cast<std::int32_t>(c));
  return found;
}

void apply_gamma(const Model& model, std::span<float> scores) {
  for (std::size_t c = 0; c < scores.size(); ++c)
    if (model.classes.seen[c]) scores[c] -= static_cast<float>(model.gamma);
}

/// The best of `candidates` (ascending), best first; ties go to the earlier class.
void best_classes(std::span<const float> scores, const std::vector<std::int32_t>& candidates,
                  std::span<std::int32_t> best) {
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float x = scores[static_cast<std::size_t>(a)], y = scores[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  };
  if (best.size() == 1)
    best[0] = *std::min_element(candidates.begin(), candidates.end(), better);
  else
    std::partial_sort_copy(candidates.begin(), candidates.end(), best.begin(), best.end(), better);
}

/// Softmax over `candidates` of the scores of the `best` of them, best first.
void confidences_of(std::span<const float> scores, const std::vector<std::int32_t>& candidates, double temperature,
                    std::span<const std::int32_t> best, float* confidences) {
  const float top = scores[static_cast<std::size_t>(best[0])];
  const auto weight = [&](std::int32_t c) {
    return std::exp((scores[static_cast<std::size_t>(c)] - top) / temperature);
  };
  double sum = 0;
  for (const auto c : candidates) sum += static_cast<float>(weight(c));
  for (std::size_t i = 0; i < best.size(); ++i)
    confidences[i] = static_cast<float>(static_cast<float>(weight(best[i])) / sum);
}

}  // namespace

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
    for_each_batch(input, scores_of(*model), [&](std::size_t first, Matrix<float>& result, ThreadPool& pool) {
      rows_to_confidences(model->model, result, pool);
      copy_to(confidences)(first, result, pool);
    });
  });
}

parsnets_status parsnets_predict_top(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                     int32_t among, size_t k, uint32_t threads, int32_t* classes, float* confidences) {
  return guarded([&] {
    const Samples input{x, samples, dimensions, threads};
    check_samples(model, input, classes, "classes", k);
    const auto candidates = competitors(model->model, among);
    if (k < 1 || k > candidates.size())
      throw Error(ErrorCode::usage,
                  fmt::format("argument 'k': expected 1 to {} classes that compete, found {}", candidates.size(), k));
    const Model& bank = model->model;
    for_each_batch(input, scores_of(*model), [&](std::size_t first, Matrix<float>& result, ThreadPool& pool) {
      pool.parallel_for(result.rows(), 256, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r) {
          apply_gamma(bank, result.row(r));
          best_classes(result.row(r), candidates, {classes + (first + r) * k, k});
          if (confidences != nullptr)
            confidences_of(result.row(r), candidates, bank.temperature, {classes + (first + r) * k, k},
                           confidences + (first + r) * k);
        }
      });
    });
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
    const BlasTurn turn;
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
    known.prototypes = why.prototypes;
    write_struct(explanation, known, "parsnets_explanation");
  });
}
