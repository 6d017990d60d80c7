#pragma once
// Splits: from index lists or class lists to a checked Split; validation classes; making new splits.

#include <cstdint>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Index lists as a file gives them, already integral, still 1- or 0-based. Missing lists are empty.
struct RawSplit {
  std::vector<std::int64_t> trainval, test_seen, test_unseen, train, val;
};

/// A list of samples in a *_splits.mat and what becomes of it.
struct SplitList {
  const char* name;
  std::vector<std::int64_t> RawSplit::*raw;
  std::vector<std::int32_t> Split::*list;
};
inline constexpr SplitList kSplitLists[] = {{"trainval_loc", &RawSplit::trainval, &Split::trainval},
                                            {"test_seen_loc", &RawSplit::test_seen, &Split::test_seen},
                                            {"test_unseen_loc", &RawSplit::test_unseen, &Split::test_unseen},
                                            {"train_loc", &RawSplit::train, &Split::file_train},
                                            {"val_loc", &RawSplit::val, &Split::file_val}};

/// Shifts the lists to 0-based indices below `samples` (0 when it is not known). An index 0 anywhere means 0-based,
/// `samples` anywhere means 1-based; where neither occurs they are taken as 1-based, as MATLAB writes them. Throws
/// bad_input for both at once, for indices out of range and for repeats within a list.
Split split_from_lists(const RawSplit& raw, std::size_t samples, const std::string& file);

/// Class lists and sample lists of a plain folder's split.json, resolved to indices.
struct ClassSplit {
  std::vector<std::int32_t> unseen_classes, val_classes;
  std::vector<std::int32_t> test_seen;  ///< samples
};
Split split_from_classes(const ClassSplit& classes, const std::vector<std::int32_t>& labels);

/// Of a folder without a split: all samples train, for use and not for measuring. Classes without samples are unseen.
Split split_without_test(const std::vector<std::int32_t>& labels, std::uint64_t seed);

/// Sets train and val. Lists of the file are intersected with trainval; else `val_classes`; else about 30 % of the seen
/// classes, drawn with `seed` (at least one; none when fewer than three classes are seen).
void derive_validation(Split& split, const std::vector<std::int32_t>& labels,
                       const std::vector<std::int32_t>& val_classes, std::uint64_t seed);

/// What the layout of the lists in a .mat file says of the version of the Proposed Split.
std::string split_layout(const Split& split, bool has_train_and_val);

/// Human-readable: the file that was given and the version, where known.
std::string split_name(const Split& split);

struct SplitOptions {
  double unseen = 0.2;      ///< share of the classes (below 1) or their number
  double validation = 0.2;  ///< share of the seen classes (below 1) or their number
  double test_seen = 0.2;   ///< fraction of each seen class's samples held out for testing
  std::uint64_t seed = 1;
  std::vector<std::int32_t> unseen_classes{};  ///< when given, used in place of a drawn set
};
/// A seeded, class-disjoint split of labelled samples into train, validation and test. Every seen class keeps at least
/// one training sample. Throws usage when the classes do not suffice.
ClassSplit make_class_split(const std::vector<std::int32_t>& labels, std::size_t classes, const SplitOptions& options);

}  // namespace parsnets
