#pragma once
// Splits by lists of classes: text files with a class name per line, as the standard split (SS) is published.

#include <filesystem>
#include <string>
#include <vector>

#include "data/split.hpp"

namespace parsnets {

/// The value of LoadOptions::split that looks for the lists at the usual places.
inline constexpr const char* kStandardSplit = "standard";

/// The classes that a text file names, one per line; none where there is no such file. Throws bad_input for a name that
/// is not among `class_names` and for one that occurs twice.
std::vector<std::int32_t> read_class_list(const std::filesystem::path& file,
                                          const std::vector<std::string>& class_names);

/// Whether the folder has trainvalclasses.txt and testclasses.txt.
bool has_class_lists(const std::filesystem::path& folder);

/// The first of DATA/standard_split, DATA/../standard_split/NAME and DATA that has the lists. Throws bad_input naming
/// the places without any.
std::filesystem::path find_standard_split(const std::filesystem::path& data_folder);

/// All samples of the classes in trainvalclasses.txt train, all of those in testclasses.txt test; valclasses1.txt,
/// where it is there, names the validation classes. There is no test_seen.
Split read_class_lists(const std::filesystem::path& folder, const Dataset& data, std::uint64_t seed);

}  // namespace parsnets
