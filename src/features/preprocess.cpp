#include "features/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.hpp"
#include "base/linalg.hpp"
#include "base/simd.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

PARSNETS_SIMD void multiply_all(float* x, std::size_t count, double factor) {
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(x[i] * factor);
}

PARSNETS_SIMD void signed_roots(float* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] = std::copysign(std::sqrt(std::abs(x[i])), x[i]);
}

PARSNETS_SIMD void subtract(float* x, const float* mean, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] -= mean[i];
}

/// A zero vector has no direction and stays zero.
void to_unit_length(std::span<float> x) {
  const double norm = std::sqrt(dot(std::span<const float>(x), x));
  if (norm == 0) return;
  multiply_all(x.data(), x.size(), 1 / norm);
}

void subtract_and_multiply(std::span<float> x, const std::vector<float>& mean, const std::vector<float>& factor) {
  if ((!mean.empty() && mean.size() != x.size()) || (!factor.empty() && factor.size() != x.size()))
    throw Error(ErrorCode::usage, fmt::format("preprocessing: expected {} values per row, found {}",
                                              mean.empty() ? factor.size() : mean.size(), x.size()));
  subtract(x.data(), mean.data(), mean.size());
  for (std::size_t j = 0; j < factor.size(); ++j) x[j] *= factor[j];
}

void scale_sample(FeatureScaling scaling, std::span<float> x) {
  if (scaling == FeatureScaling::sqrt_l2) signed_roots(x.data(), x.size());
  if (scaling == FeatureScaling::l2 || scaling == FeatureScaling::sqrt_l2) to_unit_length(x);
}

std::span<const float> checked_row(MatrixView<const float> matrix, std::int32_t index, const char* field) {
  if (index < 0 || static_cast<std::size_t>(index) >= matrix.rows())
    throw Error(ErrorCode::failure,
                fmt::format("internal error: row {} of {}, which has {}", index, field, matrix.rows()));
  const auto row = matrix.row(static_cast<std::size_t>(index));
  if (all_finite(row)) return row;
  const auto bad = std::ranges::find_if_not(row, [](float v) { return std::isfinite(v); });
  throw Error(BadInput{"the data set", field, "finite numbers",
                       fmt::format("{} in row {}, column {}", *bad, index, bad - row.begin()),
                       "remove the row or correct the value"});
}

struct ColumnStatistics {
  std::vector<float> mean, factor;
};

/// Loads row i of a block into a buffer.
using LoadRow = std::function<void(std::size_t i, std::span<float> row)>;
/// Hands out all blocks of rows, each with the number of its rows.
using LoadBlocks = std::function<void(const std::function<void(std::size_t count, const LoadRow& load)>& take)>;

/// Mean and 1/deviation of each column over all rows. Chunks depend on the count of a block alone and are added up in
/// order. Deviations from the first row of all are summed, so that a constant column has variance 0 exactly.
ColumnStatistics column_statistics(std::size_t columns, bool with_factor, Processes* group, ThreadPool& pool,
                                   const LoadBlocks& blocks) {
  std::vector<float> first(columns, 0.0f);
  bool found = false;
  if (group == nullptr || group->rank() == 0)
    blocks([&](std::size_t, const LoadRow& load) {
      if (!found) load(0, first);
      found = true;
    });
  if (group != nullptr) group->sum(std::span<float>(first));
  const auto mean_over_rows = [&](const auto& add) {  // add(value, column) is what a value contributes
    std::vector<double> total(columns + 1, 0.0);      // the last: rows
    blocks([&](std::size_t count, const LoadRow& load) {
      const std::size_t grain = std::max<std::size_t>(64, (count + 63) / 64);
      Matrix<double> sums(ThreadPool::chunk_count(count, grain), columns, 0.0);
      pool.parallel_for(count, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        std::vector<float> row(columns);
        const auto sum = sums.row(chunk);
        for (std::size_t i = begin; i < end; ++i) {
          load(i, row);
          for (std::size_t j = 0; j < columns; ++j) sum[j] += add(static_cast<double>(row[j]), j);
        }
      });
      for (std::size_t c = 0; c < sums.rows(); ++c)
        for (std::size_t j = 0; j < columns; ++j) total[j] += sums(c, j);
      total[columns] += static_cast<double>(count);
    });
    if (group != nullptr) group->sum(std::span<double>(total));
    for (std::size_t j = 0; j < columns; ++j) total[j] /= total[columns];
    total.pop_back();
    return total;
  };

  std::vector<double> mean = mean_over_rows([&](double v, std::size_t j) { return v - first[j]; });
  for (std::size_t j = 0; j < columns; ++j) mean[j] += first[j];
  ColumnStatistics result;
  result.mean.assign(mean.begin(), mean.end());
  if (!with_factor) return result;
  for (const double variance : mean_over_rows([&](double v, std::size_t j) { return (v - mean[j]) * (v - mean[j]); })) {
    const double deviation = std::sqrt(variance);
    result.factor.push_back(deviation > std::numeric_limits<float>::min() ? static_cast<float>(1 / deviation) : 0.0f);
  }
  return result;
}

void require_rows(std::size_t count, const char* field) {
  if (count == 0)
    throw Error(
        BadInput{"the data set", field, "at least one row to fit the preprocessing to", "none", "check the split"});
}

SemanticPreprocess fit_semantic_scaling(SemanticScaling scaling, MatrixView<const float> semantics,
                                        std::span<const std::int32_t> seen) {
  SemanticPreprocess result;
  result.scaling = scaling;
  if (scaling == SemanticScaling::none || scaling == SemanticScaling::l2) return result;
  ThreadPool caller(1);
  auto statistics = column_statistics(
      semantics.cols(), scaling == SemanticScaling::standardize, nullptr, caller, [&](const auto& take) {
        take(seen.size(), [&](std::size_t i, std::span<float> a) {
          std::ranges::copy(semantics.row(static_cast<std::size_t>(seen[i])), a.begin());
        });
      });
  result.mean = std::move(statistics.mean);
  result.factor = std::move(statistics.factor);
  return result;
}

/// Columns of a table of semantics.
struct Columns {
  std::size_t first, count;
};

/// Appends the axes of one table to the whitening: by the Gram matrix of the smaller side, the P seen classes or the m
/// attributes. `weight`: mean squared length of the seen classes in these axes; 0: as they are.
void fit_whitening(SemanticPreprocess& preprocess, double exponent, MatrixView<const float> semantics,
                   std::span<const std::int32_t> seen, Columns table, double weight) {
  constexpr double kFloor = 1e-3, kNegligible = 1e-10;
  const std::size_t p = seen.size(), m = table.count, all = semantics.cols();
  Matrix<double> rows(p, m);
  std::vector<double> centre(m, 0.0);
  std::vector<float> a(all);
  for (std::size_t c = 0; c < p; ++c) {
    std::ranges::copy(semantics.row(static_cast<std::size_t>(seen[c])), a.begin());
    preprocess.apply(a);
    for (std::size_t j = 0; j < m; ++j) centre[j] += (rows(c, j) = a[table.first + j]) / static_cast<double>(p);
  }
  for (std::size_t c = 0; c < p; ++c)
    for (std::size_t j = 0; j < m; ++j) rows(c, j) -= centre[j];
  ThreadPool caller(1);
  const bool by_class = p < m;
  const std::size_t side = std::min(p, m);
  const Matrix<double> gram =
      product(caller, by_class ? Trans::no : Trans::yes, rows, by_class ? Trans::yes : Trans::no, rows);
  const EigenPairs pairs = largest_eigenpairs(gram.view());
  if (pairs.values[0] <= 0) return;  // all seen classes alike: there is nothing to whiten
  std::size_t count = 0;
  while (count < side && pairs.values[count] > kNegligible * pairs.values[0]) ++count;
  const MatrixView<const double> vectors(pairs.vectors.data(), count, side);
  const Matrix<double> axes = by_class ? product(caller, Trans::no, vectors, Trans::no, rows)  // = σ_i times the axis
                                       : Matrix<double>::copy_of(vectors);
  preprocess.whitening_centre.resize(all);
  for (std::size_t j = 0; j < m; ++j) preprocess.whitening_centre[table.first + j] = static_cast<float>(centre[j]);
  const auto factor_of = [&](std::size_t i) {
    return std::pow(pairs.values[i] / pairs.values[0] + kFloor, -exponent / 2);
  };
  double shared = 1;
  if (weight > 0) {
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) squares += factor_of(i) * factor_of(i) * pairs.values[i];
    shared = std::sqrt(weight * static_cast<double>(p) / squares);
  }
  std::size_t row = preprocess.whitening.size();
  preprocess.whitening.resize(row + count * all);
  for (std::size_t i = 0; i < count; ++i, row += all) {
    const double factor = shared * factor_of(i), scale = by_class ? factor / std::sqrt(pairs.values[i]) : factor;
    for (std::size_t j = 0; j < m; ++j)
      preprocess.whitening[row + table.first + j] = static_cast<float>(scale * axes(i, j));
  }
}

}  // namespace

std::vector<double> table_weights(const SemanticOptions& options, const Semantics& semantics) {
  const std::size_t count = std::max<std::size_t>(1, semantics.tables.size());
  std::vector<double> weights = options.weights.empty() ? std::vector<double>(count, 1.0) : options.weights;
  if (weights.size() != count)
    throw Error(
        ErrorCode::usage,
        fmt::format("{}: expected {}, one per table of semantics ({}), found {}", option_name("semantic-weights"),
                    count == 1 ? "1 number" : fmt::format("{} numbers", count), semantics.name, weights.size()));
  double sum = 0;
  for (const double w : weights) {
    if (!(w > 0) || !std::isfinite(w))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected positive numbers, found {}", option_name("semantic-weights"), w));
    sum += w;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

void FeaturePreprocess::apply(std::span<float> x) const {
  scale_sample(scaling, x);
  subtract_and_multiply(x, mean, factor);
}

FeaturePreprocess fit_feature_preprocess(FeatureScaling scaling, MatrixView<const float> features,
                                         const ChosenRows& blocks, Processes* group, ThreadPool& pool) {
  auto statistics =
      column_statistics(features.cols(), scaling == FeatureScaling::standardize, group, pool, [&](const auto& take) {
        blocks([&](std::span<const std::int32_t> rows) {
          take(rows.size(), [&](std::size_t i, std::span<float> x) {
            std::ranges::copy(checked_row(features, rows[i], "features"), x.begin());
            scale_sample(scaling, x);
          });
        });
      });
  FeaturePreprocess result;
  result.scaling = scaling;
  result.mean = std::move(statistics.mean);
  result.factor = std::move(statistics.factor);
  return result;
}

FeaturePreprocess fit_feature_preprocess(FeatureScaling scaling, MatrixView<const float> features,
                                         std::span<const std::int32_t> rows, ThreadPool& pool) {
  require_rows(rows.size(), "features");
  return fit_feature_preprocess(
      scaling, features, [&](const auto& take) { take(rows); }, nullptr, pool);
}

Matrix<float> preprocessed_rows(const FeaturePreprocess& preprocess, MatrixView<const float> features,
                                std::span<const std::int32_t> rows, ThreadPool& pool) {
  Matrix<float> out(rows.size(), features.cols());
  pool.parallel_for(rows.size(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      std::ranges::copy(checked_row(features, rows[i], "features"), out.row(i).begin());
      preprocess.apply(out.row(i));
    }
  });
  return out;
}

void SemanticPreprocess::apply(std::span<float> a) const {
  subtract_and_multiply(a, mean, factor);
  if (scaling == SemanticScaling::binary)
    for (float& v : a) v = v > 0 ? 1.0f : 0.0f;
  if (scaling != SemanticScaling::l2 && scaling != SemanticScaling::centre_l2) return;
  if (tables.empty()) return to_unit_length(a);
  for (std::size_t at = 0; const std::uint32_t columns : tables) {
    to_unit_length(a.subspan(at, columns));
    at += columns;
  }
}

void SemanticPreprocess::whiten(std::span<const float> a, std::span<float> b) const {
  if (whitening.empty()) {
    std::ranges::copy(a, b.begin());
    return;
  }
  std::vector<float> centred(a.begin(), a.end());
  subtract_and_multiply(centred, whitening_centre, {});
  dots({whitening.data(), b.size(), a.size()}, centred, b);
}

void SemanticPreprocess::expand(std::span<const float> b, std::span<float> a) const {
  if (whitening.empty()) {
    std::ranges::copy(b, a.begin());
    return;
  }
  std::vector<double> sum(a.size(), 0.0);
  for (std::size_t i = 0; i < b.size(); ++i) {
    const std::span<const float> axis(whitening.data() + i * a.size(), a.size());
    const double scale = b[i] / std::sqrt(dot(axis, axis));
    for (std::size_t j = 0; j < a.size(); ++j) sum[j] += scale * axis[j];
  }
  for (std::size_t j = 0; j < a.size(); ++j) a[j] = static_cast<float>(sum[j]);
}

SemanticPreprocess fit_semantic_preprocess(SemanticScaling scaling, MatrixView<const float> semantics,
                                           std::span<const std::int32_t> seen, double whitening, bool rotated,
                                           std::span<const double> attribute_weights) {
  require_rows(seen.size(), "semantics");
  for (const std::int32_t c : seen) checked_row(semantics, c, "semantics");
  SemanticPreprocess result = fit_semantic_scaling(scaling, semantics, seen);
  if (!attribute_weights.empty()) result.factor.resize(attribute_weights.size(), 1.0f);
  for (std::size_t j = 0; j < attribute_weights.size(); ++j)
    result.factor[j] = static_cast<float>(result.factor[j] * attribute_weights[j]);
  if (whitening > 0 || rotated) fit_whitening(result, whitening, semantics, seen, {0, semantics.cols()}, 0);
  return result;
}

SemanticPreprocess fit_semantic_preprocess(const SemanticOptions& options, const Semantics& semantics,
                                           std::span<const std::int32_t> seen, bool rotated,
                                           std::span<const double> attribute_weights) {
  const std::vector<double> weights = table_weights(options, semantics);
  const MatrixView<const float> values = semantics.values.view();
  if (weights.size() == 1)
    return fit_semantic_preprocess(options.scaling, values, seen, options.whitening, rotated, attribute_weights);
  SemanticPreprocess result = fit_semantic_preprocess(options.scaling, values, seen, 0, false, attribute_weights);
  for (const auto& [name, columns] : semantics.tables) result.tables.push_back(static_cast<std::uint32_t>(columns));
  for (std::size_t t = 0, first = 0; t < weights.size(); first += result.tables[t++])
    fit_whitening(result, options.whitening, values, seen, {first, result.tables[t]}, weights[t]);
  return result;
}

Matrix<float> preprocessed_semantics(const SemanticPreprocess& preprocess, MatrixView<const float> semantics) {
  Matrix<float> out(semantics.rows(), preprocess.outputs(semantics.cols()));
  std::vector<float> scaled(semantics.cols());
  for (std::size_t c = 0; c < semantics.rows(); ++c) {
    std::ranges::copy(checked_row(semantics, static_cast<std::int32_t>(c), "semantics"), scaled.begin());
    preprocess.apply(scaled);
    preprocess.whiten(scaled, out.row(c));
  }
  return out;
}

}  // namespace parsnets
