// Scores, confidences, best classes, semantics and explanations behind parsnets.h.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/checked.hpp"
#include "capi/handles.hpp"

using namespace parsnets;
using namespace parsnets::capi;

namespace {

constexpr std::size_t kBatch = 2048;  // bounds the memory of a call with many samples
constexpr std::size_t kFew = 128;     // samples; products are not shared out below, so that threads would idle

struct Input {
  const float* x;
  std::size_t samples, dimensions;
  std::uint32_t threads;
};

void check_count(const char* name, std::size_t expected, std::size_t found) {
  if (found != expected)
    throw Error(BadInput{"input", name, fmt::format("{}, as the model has", expected), std::to_string(found),
                         "ask for the model's facts again"});
}

/// Everything that is wrong with the input or the output is said before any work is done.
void check_input(const parsnets_model* model, const Input& input, const void* output, const char* output_name,
                 std::size_t columns) {
  require(model, "model");
  require(input.x, "x");
  require(output, output_name);
  checked_threads(input.threads);
  check_count("dimensions", model->model.feature_dimensions, input.dimensions);
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(float);
  for (const std::size_t width : {input.dimensions, columns})
    if (const auto values = checked_mul(input.samples, width); !values || *values > most)
      throw Error(
          ErrorCode::usage,
          fmt::format("argument 'samples': expected arrays that fit into memory, found {} x {}", input.samples, width));
}

using Predict = std::function<Matrix<float>(MatrixView<const float> x, ThreadPool& pool)>;
using Take = std::function<void(std::size_t first, Matrix<float>& result, ThreadPool& pool)>;

/// Calls `predict` for batches of rows and hands each result on.
void for_each_batch(const Input& input, const Predict& predict, const Take& take) {
  const BlasTurn turn;
  ThreadPool pool(input.samples <= kFew ? 1 : input.threads);
  for (std::size_t first = 0; first < input.samples; first += kBatch) {
    const std::size_t rows = std::min(kBatch, input.samples - first);
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

}  // namespace

parsnets_status parsnets_predict_scores(const parsnets_model* model, const float* x, size_t samples, size_t dimensions,
                                        uint32_t threads, float* scores, size_t classes) {
  return guarded([&] {
    const Input input{x, samples, dimensions, threads};
    check_input(model, input, scores, "scores", classes);
    check_count("classes", model->model.classes.names.size(), classes);
    for_each_batch(input, scores_of(*model), copy_to(scores));
  });
}

parsnets_status parsnets_predict_confidences(const parsnets_model* model, const float* x, size_t samples,
                                             size_t dimensions, uint32_t threads, float* confidences, size_t classes) {
  return guarded([&] {
    const Input input{x, samples, dimensions, threads};
    check_input(model, input, confidences, "confidences", classes);
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
    const Input input{x, samples, dimensions, threads};
    check_input(model, input, classes, "classes", k);
    const auto candidates = competitors(model->model, among);
    if (k < 1 || k > candidates.size())
      throw Error(ErrorCode::usage,
                  fmt::format("argument 'k': expected 1 to {} classes that compete, found {}", candidates.size(), k));
    std::vector<char> competes(model->model.classes.names.size(), 0);
    for (const auto c : candidates) competes[static_cast<std::size_t>(c)] = 1;
    for_each_batch(input, scores_of(*model), [&](std::size_t first, Matrix<float>& result, ThreadPool& pool) {
      for (std::size_t r = 0; r < result.rows(); ++r)
        for (std::size_t c = 0; c < result.cols(); ++c)
          if (!competes[c]) result(r, c) = -1e30f;
      rows_to_confidences(model->model, result, pool);
      std::vector<std::int32_t> order;
      for (std::size_t r = 0; r < result.rows(); ++r) {
        const auto row = result.row(r);
        const auto value = [&](std::int32_t c) { return row[static_cast<std::size_t>(c)]; };
        order = candidates;
        std::partial_sort(
            order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
            [&](std::int32_t a, std::int32_t b) { return value(a) > value(b) || (value(a) == value(b) && a < b); });
        for (std::size_t i = 0; i < k; ++i) {
          classes[(first + r) * k + i] = order[i];
          if (confidences != nullptr) confidences[(first + r) * k + i] = value(order[i]);
        }
      }
    });
  });
}

parsnets_status parsnets_predict_semantics(const parsnets_model* model, const float* x, size_t samples,
                                           size_t dimensions, uint32_t threads, float* semantics, size_t attributes) {
  return guarded([&] {
    const Input input{x, samples, dimensions, threads};
    check_input(model, input, semantics, "semantics", attributes);
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
    check_input(model, {x, 1, dimensions, 1}, explanation, "explanation", attributes);
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
