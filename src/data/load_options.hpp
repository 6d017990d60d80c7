#pragma once
// The table of load options: how a data set folder is read.

#include <filesystem>

#include "base/options.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// One row per option of load_dataset that a user sets. Refers to `load`, which must outlive the table.
void add_load_options(OptionTable& table, LoadOptions& load);

// LoadOptions that mean the same files from any working folder.

/// Files that are given by a path outside `folder`, the data set, get absolute paths. Names and "standard" stay.
LoadOptions with_absolute_paths(LoadOptions options, const std::filesystem::path& folder);

/// The values among `options` that name files by path, files that a name without ending does not find, or the standard
/// split.
LoadOptions chosen_files(const LoadOptions& options, const std::filesystem::path& folder);

/// Whether the files of `value`, of LoadOptions::features or ::semantics, are there.
bool files_are_there(const std::string& value, const std::filesystem::path& folder);

}  // namespace parsnets
