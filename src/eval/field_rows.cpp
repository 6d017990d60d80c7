#include "eval/field_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/memory_limit.hpp"
#include "eval/score_source.hpp"
#include "model/teaching.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Samples to predict at a time: all where they fit into half of what the limit leaves.
std::size_t rows_at_a_time(const Model& model, const RowBlocks<float>& samples, std::uint64_t memory_limit) {
  if (memory_limit == 0) return samples.rows;
  const auto each = 16 * static_cast<double>(model.dimensions) + 16 * static_cast<double>(model.outputs());
  const double room =
      static_cast<double>(memory_limit) - static_cast<double>(held_memory()) - field_bytes(model, samples.rows);
  const auto fitting = static_cast<std::size_t>(std::max(0.0, room / 2 / each));
  return fitting >= samples.rows ? samples.rows : std::max(kScoredRows, fitting / kScoredRows * kScoredRows);
}

}  // namespace

Matrix<float> predict_rows(const Model& model, const RowBlocks<float>& samples, std::uint64_t memory_limit,
                           ThreadPool& pool) {
  const std::size_t most = rows_at_a_time(model, samples, memory_limit);
  if (most >= samples.rows) return model.predict(samples.block(0, samples.rows), pool);
  Matrix<float> f(samples.rows, model.outputs());
  for (std::size_t first = 0; first < samples.rows; first += most) {
    const auto block = samples.block(first, std::min(most, samples.rows - first));
    const auto bad = std::ranges::find_if_not(block.values(), [](float v) { return std::isfinite(v); });
    if (bad != block.values().end()) {
      const auto at = static_cast<std::size_t>(bad - block.values().begin());
      throw Error(BadInput{"input", fmt::format("sample {}, feature {}", first + at / block.cols(), at % block.cols()),
                           "a finite number", fmt::format("{}", *bad), "remove or replace the value"});
    }
    const Matrix<float> some = model.predict(block, pool);
    std::ranges::copy(some.values(), f.row(first).begin());
  }
  return f;
}

Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options,
                      std::uint64_t memory_limit, ThreadPool& pool) {
  check_field_samples(model, samples.rows, "adaptation");
  for (const auto& name : options.classes) index_of_class(model, name);  // throws before the work
  return adapt_predicted(model, predict_rows(model, samples, memory_limit, pool), options, pool);
}

void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, std::uint64_t memory_limit,
                ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  const std::size_t c = index_of_class(model, name);
  teach_predicted(model, c, predict_rows(model, examples, memory_limit, pool));
}

void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples,
                       std::uint64_t memory_limit, ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  add_class_predicted(model, name, predict_rows(model, examples, memory_limit, pool));
}

double field_bytes(const Model& model, std::size_t samples) {
  const auto outputs = static_cast<double>(model.outputs());
  return scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions, kScoredRows) +
         static_cast<double>(samples) * (8 * outputs + 48);
}

}  // namespace parsnets
