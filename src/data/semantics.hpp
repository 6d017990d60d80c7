#pragma once
// From raw attribute tables to complete Semantics: finds missing values and applies the policy.

#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Marks missing values of a raw C x m table with NaN: NaN itself, and -1 in a table whose other values lie on a
/// scale from 0 to something above 1 (AwA's convention; a -1/+1 table is left alone). Returns how many there are.
std::size_t mark_missing(MatrixView<double> raw);

/// Completes `raw` (C x m, NaN = missing) by the policy. `file` and `field` name the source in errors: an infinite
/// value, an attribute no class has, or any missing value under MissingPolicy::refuse.
Semantics complete_semantics(MatrixView<const double> raw, MissingPolicy policy, const std::string& file,
                             const std::string& field, const std::vector<std::string>& class_names,
                             const std::vector<std::string>& attribute_names);

/// What makes results on the data set meaningless, a sentence each: one attribute only, classes with equal attributes.
std::vector<std::string> semantic_warnings(const Dataset& data);

}  // namespace parsnets
