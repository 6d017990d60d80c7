#pragma once
// The two kinds of data set folder and what they share. Internal to src/data.

#include <filesystem>
#include <initializer_list>
#include <optional>
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

Dataset load_plain(const std::filesystem::path& folder, const LoadOptions& options, ProgressObserver* progress);
void save_plain(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                DataFormat format);
/// As the public one, with features from elsewhere than data.features; none: rows is 0.
void save_dataset(const Dataset& data, const RowBlocks<float>& features, const std::filesystem::path& folder,
                  DataFormat format);

/// Value i as an integer; throws bad_input naming it if it is none.
std::int64_t to_integer(double value, const std::string& file, const std::string& field, std::size_t i);
/// Integers held in a double array, all of them.
std::vector<std::int64_t> to_integers(std::span<const double> values, const std::string& file,
                                      const std::string& field);

/// "'a', 'b' and 3 more"
std::string quoted_list(const std::vector<std::string>& names, std::size_t most = 8);

// Which files of a data set folder are features and which are tables of semantics. Internal to src/data.

/// Endings of files, such as ".npy".
using Endings = std::initializer_list<const char*>;
/// Of files with a sample, or its label, in each row, which sample_files.cpp reads; and of all that have features.
inline constexpr Endings kSampleEndings{".npy", ".npz", ".csv"}, kFeatureEndings{".mat", ".npy", ".npz", ".csv"};

/// The one file <stem>.<ending> among the endings; throws when there are several, nothing when there is none.
std::optional<std::filesystem::path> find_one(const std::filesystem::path& folder, const std::string& stem,
                                              Endings endings);

/// The file that an option names: without ending or with it in the folder, or by its path. Nothing when there is none.
std::optional<std::filesystem::path> find_named(const std::filesystem::path& folder, const std::string& name,
                                                Endings endings);

/// NAME_splits.mat.
std::string splits_file(const std::string& name);

/// The names of the *_splits.mat without that ending, sorted.
std::vector<std::string> splits_names(const std::filesystem::path& folder);

/// The .mat files that are not *_splits.mat and, unless `any`, have a variable `features`, without ending, sorted. A
/// file that cannot be read counts, so that it is reported when it is used.
std::vector<std::string> mat_features(const std::filesystem::path& folder, bool any = false);

/// The .npy, .npz and .csv files with features, without ending, sorted: neither labels nor image_files nor tables of
/// `classes` rows or with a column `class`.
std::vector<std::string> array_features(const std::filesystem::path& folder, std::size_t classes);

/// Both, each name once.
std::vector<std::string> all_features(const std::filesystem::path& folder, std::size_t classes);

/// The .csv files with a column `class`, and the .npy files of `classes` rows (0: none), sorted.
std::vector<std::filesystem::path> class_tables(const std::filesystem::path& folder, std::size_t classes);

}  // namespace parsnets
