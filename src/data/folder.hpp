#pragma once
// The two kinds of data set folder and what they share. Internal to src/data.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/row_blocks.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// Whether a folder has *_splits.mat, or other .mat files without attributes.csv.
bool is_xlsa17(const std::filesystem::path& folder);
/// Its own name, also where the path ends in a slash or is relative.
std::string folder_name(const std::filesystem::path& folder);

Dataset load_xlsa17(const std::filesystem::path& folder, const LoadOptions& options, ProgressObserver* progress);
void save_xlsa17(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                 DataFormat format, ProgressObserver* progress);

Dataset load_plain(const std::filesystem::path& folder, const LoadOptions& options, ProgressObserver* progress);
void save_plain(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                DataFormat format, ProgressObserver* progress);
/// As the public one, with features from elsewhere than data.features; none: rows is 0.
void save_dataset(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                  DataFormat format, ProgressObserver* progress);

/// Integers held in a double array; throws bad_input naming the first value that is none.
std::vector<std::int64_t> to_integers(std::span<const double> values, const std::string& file,
                                      const std::string& field);

/// "'a', 'b' and 3 more"
std::string quoted_list(const std::vector<std::string>& names, std::size_t most = 8);

}  // namespace parsnets
