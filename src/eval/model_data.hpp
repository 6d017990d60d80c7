#pragma once
// What a model's training record says of a data set that the model is tested on.

#include <cstdint>
#include <optional>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// Test samples of `data` that the model was trained on: 0 for another data set; nothing when the record of an older
/// model file tells only that the lists of training samples differ.
std::optional<std::size_t> count_trained_samples(const Model& model, const Dataset& data);

/// The same as a field of an evaluation, -1 when the number is not known. Throws bad_input unless it is 0 or `allowed`.
std::int64_t check_trained_samples(const Model& model, const Dataset& data, bool allowed);

/// Throws bad_input when features of the data set were made by another backbone than those that the model was trained
/// on, as far as both are known.
void check_source(const Model& model, const Dataset& data);

/// Throws bad_input when the data set was loaded with other semantics than the model was trained with: of another name
/// or size, and other values for a class that the model was trained on.
void check_semantics(const Model& model, const Dataset& data);

}  // namespace parsnets
