#pragma once
// Whether labels and splits mean the classes that the data set has, checked by name. Internal to src/data.

#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Throws bad_input naming one class that `names` of `file` has and the data set lacks, or the other way round. Classes
/// that are only numbered (class_1, class_2, …) are not compared.
void check_same_classes(const std::vector<std::string>& names, const std::string& file, const Dataset& data);

/// Numbers as labels count the classes of one *_splits.mat, here `first`. Throws bad_input if most image files that lie
/// in a folder named after a class have the label of another class; some are a note. Where images tell nothing and
/// another *_splits.mat of the folder orders its classes differently, a note says which order was taken.
void check_class_order(const std::filesystem::path& folder, const std::string& first, Dataset& data);

}  // namespace parsnets
