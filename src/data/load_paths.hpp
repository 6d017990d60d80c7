#pragma once
// LoadOptions that mean the same files from any working folder.

#include <filesystem>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Files that are given by a path outside `folder`, the data set, get absolute paths. Names and "standard" stay.
LoadOptions with_absolute_paths(LoadOptions options, const std::filesystem::path& folder);

/// The values among `options` that name files by path, files that a name without ending does not find, or the standard
/// split.
ChosenFiles chosen_files(const LoadOptions& options, const std::filesystem::path& folder);

/// Whether the files of `value`, of ChosenFiles::features or ::semantics, are there.
bool files_are_there(const std::string& value, const std::filesystem::path& folder);

}  // namespace parsnets
