#pragma once
// A split from a file of its own: split.json, the index lists of a *_splits.mat, or lists of classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/split.hpp"
#include "formats/mat.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// The variable of that name; throws bad_input naming those that are there.
const MatVariable& require_variable(const MatFile& file, const std::string& variable);

/// trainval_loc, test_seen_loc, test_unseen_loc, train_loc and val_loc, with the version by their layout; without
/// validation. `samples` is 0 when their number is not known.
Split read_mat_lists(MatFile& file, std::size_t samples);

/// The split that LoadOptions::split names, for the classes and labels of `data` in `folder`, with validation.
Split read_split_file(const std::filesystem::path& file, const std::filesystem::path& folder, const Dataset& data,
                      std::uint64_t seed);

// split.json of a plain folder: classes by name, samples by 0-based index.
//   {"unseen_classes": [...], "test_seen_samples": [...], "val_classes": [...]}
// Lists that classes cannot express are written out as trainval_samples, test_unseen_samples, train_samples,
// val_samples.

Split read_split_json(const std::filesystem::path& file, const std::vector<std::string>& class_names,
                      const std::vector<std::int32_t>& labels, std::uint64_t seed);
void write_split_json(const std::filesystem::path& file, const Split& split,
                      const std::vector<std::string>& class_names, const std::vector<std::int32_t>& labels);
void write_split_json(const std::filesystem::path& file, const ClassSplit& split,
                      const std::vector<std::string>& class_names);

// Splits by lists of classes: text files with a class name per line, as the standard split (SS) is published. All
// samples of the classes in trainvalclasses.txt train, all of those in testclasses.txt test; valclasses1.txt, where it
// is there, names the validation classes. There is no test_seen.

/// The value of LoadOptions::split for the first of DATA/standard_split, DATA/../standard_split/NAME and DATA that has
/// the lists.
inline constexpr const char* kStandardSplit = "standard";

/// The classes that a text file names, one per line; none where there is no such file. Throws bad_input for a name that
/// is not among `class_names` and for one that occurs twice.
std::vector<std::int32_t> read_class_list(const std::filesystem::path& file,
                                          const std::vector<std::string>& class_names);

// Whether labels mean the classes that the data set has. Internal to src/data.

/// Numbers as labels count the classes of one *_splits.mat, here `first`. Throws bad_input if most image files that lie
/// in a folder named after a class have the label of another class; some are a note. Where images tell nothing and
/// another *_splits.mat of the folder orders its classes differently, a note says which order was taken.
void check_class_order(const std::filesystem::path& folder, const std::string& first, Dataset& data);

}  // namespace parsnets
