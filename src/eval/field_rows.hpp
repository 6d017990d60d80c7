#pragma once
// Learning in the field from samples that need not be in memory together. Without a memory limit (bytes, 0: none), and
// where all samples fit into it, results are those of parsnets/field.hpp to the bit; else they are the same up to
// rounding, since samples are predicted in blocks.

#include <string>

#include "base/row_blocks.hpp"
#include "parsnets/field.hpp"

namespace parsnets {

/// What Model::predict() gives, n x o. Throws as that, naming the row.
Matrix<float> predict_rows(const Model& model, const RowBlocks<float>& samples, std::uint64_t memory_limit,
                           ThreadPool& pool);
/// As adapt().
Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options,
                      std::uint64_t memory_limit, ThreadPool& pool);
/// As teach().
void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, std::uint64_t memory_limit,
                ThreadPool& pool);
/// As add_class_by_examples().
void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples,
                       std::uint64_t memory_limit, ThreadPool& pool);

/// Bytes that these need at least for so many samples.
double field_bytes(const Model& model, std::size_t samples);

}  // namespace parsnets
