#pragma once
// Learning in the field from samples that are not in memory together. Results are those of the functions of
// parsnets/field.hpp to the bit.

#include <string>

#include "base/row_blocks.hpp"
#include "parsnets/field.hpp"

namespace parsnets {

/// What Model::predict() gives, n x o. Throws as that, naming the row.
Matrix<float> predict_rows(const Model& model, const RowBlocks<float>& samples, ThreadPool& pool);
/// As adapt().
Adaptation adapt_rows(Model& model, const RowBlocks<float>& samples, const AdaptOptions& options, ThreadPool& pool);
/// As teach().
void teach_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, ThreadPool& pool);
/// As add_class_by_examples().
void add_class_by_rows(Model& model, const std::string& name, const RowBlocks<float>& examples, ThreadPool& pool);

/// Bytes that these need beside the samples, `rows` at a time.
double field_bytes(const Model& model, std::size_t rows);

}  // namespace parsnets
