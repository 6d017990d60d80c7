#pragma once
// A model and a data set that it is tested on: whether they fit, and where the classes of one are in the other.

#include <cstdint>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"

namespace parsnets {

/// Throws bad_input when features of the data set were made by another backbone than those that the model was trained
/// on, as far as both are known.
void check_source(const Model& model, const Dataset& data);

/// What evaluations ask of a data set. Throws bad_input as check_source(); when it was loaded with other semantics than
/// the model was trained with: of another name or size, and other values for a class that the model was trained on; and
/// unless the model was trained on none of its test samples or `allow_trained_samples`. Returns how many it was trained
/// on, 0 for another data set, -1 when the record of an older model file tells only that the lists of training samples
/// differ.
std::int64_t check_test_data(const Model& model, const Dataset& data, bool allow_trained_samples = false);

/// Of each class of the data set its place among `names`, the classes of a bank; -1 for one that is not there.
std::vector<std::int32_t> bank_places(const std::vector<std::string>& names, const Dataset& data);

/// Throws bad_input that names class c of the data set.
[[noreturn]] void refuse_class(const Dataset& data, std::int32_t c, const std::string& expected,
                               const std::string& found, const std::string& advice);

/// Says of results that what the model learned since training is in them.
void warn_of_learning(const Model& model, std::vector<std::string>& warnings);

}  // namespace parsnets
