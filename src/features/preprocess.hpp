#pragma once
// Fits preprocessing to training data and applies it to many rows.

#include <cstdint>
#include <functional>
#include <span>

#include "base/processes.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/model_parts.hpp"
#include "parsnets/options.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Hands out rows of a matrix, some at a time, as often as asked.
using ChosenRows = std::function<void(const std::function<void(std::span<const std::int32_t> rows)>& take)>;

/// Fits mean and factor on the rows of `features` (N x d) in all blocks, of all processes of `group` (null: this one).
/// Constant features get factor 0. Sums in double, in a fixed order. Throws bad_input (field "features") for a
/// non-finite value, naming the sample.
FeaturePreprocess fit_feature_preprocess(FeatureScaling scaling, MatrixView<const float> features,
                                         const ChosenRows& blocks, Processes* group, ThreadPool& pool);
/// The same for one block.
FeaturePreprocess fit_feature_preprocess(FeatureScaling scaling, MatrixView<const float> features,
                                         std::span<const std::int32_t> rows, ThreadPool& pool);

/// The chosen rows of `features`, preprocessed: rows.size() x d.
Matrix<float> preprocessed_rows(const FeaturePreprocess& preprocess, MatrixView<const float> features,
                                std::span<const std::int32_t> rows, ThreadPool& pool);

/// Fits on rows `seen` of `semantics` (C x m). `whitening` a > 0 scales the principal axis i of the seen classes, of
/// singular value σ_i, by (σ_i²/σ_1² + 1e-3)^(−a/2) and drops what no seen class varies in; a = 0 leaves all as it is.
/// `rotated`: principal coordinates around the mean of the seen classes even then. `attribute_weights`: m factors of
/// the attributes, before classes are scaled to unit length; empty: all 1.
SemanticPreprocess fit_semantic_preprocess(SemanticScaling scaling, MatrixView<const float> semantics,
                                           std::span<const std::int32_t> seen, double whitening = 0,
                                           bool rotated = false, std::span<const double> attribute_weights = {});
/// The same for the tables of `semantics`. Several tables are always rotated, each by itself, and scaled so that the
/// mean squared length of the seen classes in table t is its share of `options.weights` (empty: equal shares).
/// Throws usage unless there is a weight per table.
SemanticPreprocess fit_semantic_preprocess(const SemanticOptions& options, const Semantics& semantics,
                                           std::span<const std::int32_t> seen, bool rotated,
                                           std::span<const double> attribute_weights = {});
/// The shares of the tables in `options.weights`: they sum to 1, one per table; a single table has 1.
std::vector<double> table_weights(const SemanticOptions& options, const Semantics& semantics);
/// All rows as class vectors: C x outputs.
Matrix<float> preprocessed_semantics(const SemanticPreprocess& preprocess, MatrixView<const float> semantics);

}  // namespace parsnets
