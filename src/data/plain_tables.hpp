#pragma once
// Tables of class semantics in plain folders. Internal to src/data.

#include <filesystem>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Reads the tables that `options.semantics` names into data.class_names and data.semantics. The classes and their
/// order are those of attributes.csv, or without it those of the first table that names its classes.
void read_plain_tables(const std::filesystem::path& folder, const LoadOptions& options, Dataset& data);

/// Writes attributes.csv, or a .csv per table.
void write_plain_tables(const Dataset& data, const std::filesystem::path& folder);

}  // namespace parsnets
