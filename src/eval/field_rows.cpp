#include "eval/field_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/score_source.hpp"
#include "model/teaching.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

Matrix<float> predict_rows(const Model& model, const RowBlocks<float>& samples, ThreadPool& pool) {
  Matrix<float> f(samples.rows, model.outputs());
  for (std::size_t first = 0; first < samples.rows; first += kScoredRows) {
    const auto block = samples.block(first, std::min(kScoredRows, samples.rows - first));
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

Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options, ThreadPool& pool) {
  check_field_samples(model, samples.rows, "adaptation");
  for (const auto& name : options.classes) index_of_class(model, name);  // throws before the work
  return adapt_predicted(model, predict_rows(model, samples, pool), options, pool);
}

void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  const std::size_t c = index_of_class(model, name);
  teach_predicted(model, c, predict_rows(model, examples, pool));
}

void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, ThreadPool& pool) {
  check_field_samples(model, examples.rows, "examples");
  add_class_predicted(model, name, predict_rows(model, examples, pool));
}

double field_bytes(const Model& model, std::size_t rows) {
  const auto outputs = static_cast<double>(model.outputs());
  return scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions, kScoredRows) +
         static_cast<double>(rows) * (4 * outputs + 48);
}

}  // namespace parsnets
