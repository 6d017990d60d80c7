#pragma once
// Finding data sets on disk, and what a public one still lacks.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// A folder that load_dataset reads, or would read if it were complete.
struct FoundDataset {
  std::filesystem::path folder;        ///< `root` or a folder under it
  std::string name;                    ///< the folder's name
  std::string known_as;                ///< a public data set: APY, AWA1, AWA2, CUB, FLO, SUN; empty: another
  std::vector<std::string> features;   ///< values of LoadOptions::features, sorted
  std::vector<std::string> semantics;  ///< values of LoadOptions::semantics, the default first
  std::string problem;                 ///< why it cannot be trained on; empty: it can
  std::vector<std::string> notes;      ///< what is worth knowing, e.g. another version of a public file
};

/// Every data set folder at or under `root`, sorted by path. Looks at most 3 levels deep; skips hidden folders,
/// folders that cannot be read and folders already seen through another link. A folder is a data set if it has a
/// *_splits.mat, or a table of classes (attributes.csv or another .csv with a column `class`) beside split.json or
/// labels. Reads labels and splits, never feature values. Throws bad_input if `root` is not a folder.
std::vector<FoundDataset> find_datasets(const std::filesystem::path& root);

/// A file of a public data set.
struct PublicFile {
  std::string file;         ///< "res101.mat"
  std::string contents;     ///< "features 2048 x 37322 and labels"
  std::string source;       ///< where it is usually obtained from
  std::uint64_t bytes = 0;  ///< 0: not known
  std::string sha256;       ///< 64 hexadecimal digits; empty: not known
};

/// The files that a public data set consists of and that its folder lacks; none for another data set or for a plain
/// folder that has features.
std::vector<PublicFile> missing_files(const FoundDataset& found);

/// A public data set that cannot be trained on yet.
struct MissingDataset {
  std::string data;               ///< AWA1, AWA2, CUB, SUN, APY or FLO
  std::filesystem::path folder;   ///< where its files belong
  std::vector<PublicFile> files;  ///< that are not there
};
/// The public data sets of which none of `found`, the data sets under `root`, is complete.
std::vector<MissingDataset> missing_datasets(const std::filesystem::path& root, const std::vector<FoundDataset>& found);

// The public data sets of the Proposed Splits, told by sizes and by the checksums of their lists, whatever the folder
// is called and in whatever format it is.

/// Sets known_as, split.proposed_of and, for the lists of version 1, split.version. FLO is told by its sizes alone: the
/// checksums of its lists are not known, so its split is never taken for the proposed one.
void recognise(Dataset& data);

}  // namespace parsnets
