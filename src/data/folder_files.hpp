#pragma once
// Which files of a data set folder are features and which are tables of semantics. Internal to src/data.

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace parsnets {

/// Endings of files, such as ".npy".
using Endings = std::initializer_list<const char*>;

/// The one file <stem>.<ending> among the endings; throws when there are several, nothing when there is none.
std::optional<std::filesystem::path> find_one(const std::filesystem::path& folder, const std::string& stem,
                                              Endings endings);

/// The file that an option names: without ending or with it in the folder, or by its path. Nothing when there is none.
std::optional<std::filesystem::path> find_named(const std::filesystem::path& folder, const std::string& name,
                                                Endings endings);

/// The names of the *_splits.mat without that ending, sorted.
std::vector<std::string> splits_names(const std::filesystem::path& folder);

/// The .mat files that are not *_splits.mat and have a variable `features`, without ending, sorted. A file that cannot
/// be read counts, so that it is reported when it is used.
std::vector<std::string> mat_features(const std::filesystem::path& folder);

/// The .npy, .npz and .csv files with features, without ending, sorted: neither labels nor image_files nor tables of
/// `classes` rows or with a column `class`.
std::vector<std::string> array_features(const std::filesystem::path& folder, std::size_t classes);

/// Both, each name once.
std::vector<std::string> all_features(const std::filesystem::path& folder, std::size_t classes);

/// The .csv files with a column `class`, and the .npy files of `classes` rows (0: none), sorted.
std::vector<std::filesystem::path> class_tables(const std::filesystem::path& folder, std::size_t classes);

}  // namespace parsnets
