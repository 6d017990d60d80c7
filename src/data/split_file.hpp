#pragma once
// A split from a file of its own: split.json, the index lists of a *_splits.mat, or lists of classes.

#include <filesystem>

#include "data/split.hpp"
#include "formats/mat.hpp"

namespace parsnets {

/// The variable of that name; throws bad_input naming those that are there.
const MatVariable& require_variable(const MatFile& file, const std::string& variable);

/// trainval_loc, test_seen_loc, test_unseen_loc, train_loc and val_loc, with the version by their layout; without
/// validation. `samples` is 0 when their number is not known.
Split read_mat_lists(MatFile& file, std::size_t samples);

/// The split that LoadOptions::split names, for the classes and labels of `data` in `folder`, with validation.
Split read_split_file(const std::filesystem::path& file, const std::filesystem::path& folder, const Dataset& data,
                      std::uint64_t seed);

}  // namespace parsnets
