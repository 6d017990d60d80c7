#pragma once
// Dataset: features, labels, classes, semantics and a split, loaded from a folder.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsnets/feature_source.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

/// What to do with attribute values a file marks as missing (-1 on a 0-100 scale, NaN, empty cells).
enum class MissingPolicy {
  attribute_mean,  ///< the mean of the attribute over the classes that have it
  zero,
  refuse  ///< any missing value is an error
};

/// Class semantics: row c describes class c.
struct Semantics {
  std::string name;                          ///< "att", "att:original_att", "attributes.csv", "att,sent"
  Matrix<float> values;                      ///< C x m, complete (missing values replaced)
  std::vector<std::string> attribute_names;  ///< m, or empty when the file names none
  /// Names ("att", "sent") and columns of the tables that stand side by side in `values`; empty: one table.
  std::vector<std::pair<std::string, std::size_t>> tables;
  std::size_t missing = 0;                               ///< how many values were missing
  MissingPolicy policy = MissingPolicy::attribute_mean;  ///< how missing values were replaced
};

/// Sample indices, 0-based. train and val are parts of trainval with disjoint classes.
struct Split {
  /// Samples of training, samples to test on of seen and of unseen classes, and the parts of trainval.
  std::vector<std::int32_t> trainval, test_seen, test_unseen, train, val;
  bool validation_drawn = false;  ///< train and val were drawn by us: the data set names no validation classes
  std::string validation_from;    ///< where train and val come from, in words; empty when there are none
  std::string version;            ///< "Proposed Split v1 of CUB", …; empty when unknown
  std::string proposed_of;        ///< the public data set ("CUB") if the unseen classes are those of its Proposed Split
  std::string file;               ///< name of the split file that was given; empty: the folder's own split

  /// The lists as the file gives them, before test samples were taken out of them; for the leak report.
  std::vector<std::int32_t> file_train, file_val;
};

/// What load_dataset reads, and what it requires.
struct LoadOptions {
  /// Features file: a name without ending, a file name or a path. Empty: xlsa17: the only .mat, or without any the only
  /// .npy, .npz or .csv; plain folders: `features`.
  std::string features = {};
  /// Tables of class semantics, separated by commas. xlsa17: `<name>_splits.mat`, the split comes from the first;
  /// empty: att. Plain folders: `<name>.csv` or `<name>.npy`; empty: attributes.csv. In both: files by name with ending
  /// or by path: .csv with a column `class`, .npy with a row per class, or word vectors (.txt, .vec).
  std::string semantics = {};
  bool original_att = false;                              ///< read original_att instead of att
  MissingPolicy missing = MissingPolicy::attribute_mean;  ///< what replaces missing attribute values
  bool require_features = true;                           ///< false: semantics and splits alone are enough
  bool read_features = true;                              ///< false: labels and split alone, where they are there
  bool require_split = true;                              ///< false: a plain folder may lack split.json
  /// In place of the folder's own split: split.json, *_splits.mat, a folder with trainvalclasses.txt and
  /// testclasses.txt, or `standard`, which looks for such a folder at the usual places.
  std::filesystem::path split = {};
  std::uint64_t seed = 1;  ///< for validation classes where the split has none
  /// Bytes for the whole process; 0: none. Features that would take more than a quarter of it are read in blocks and
  /// stay on disk: in their own file (float32 .npy), or else in a temporary file in $TMPDIR that has no name.
  std::uint64_t memory_limit = 0;
};

/// A zero-shot data set. `features` (and then labels) may be empty when a folder holds semantics and splits alone.
struct Dataset {
  std::string name;                      ///< the folder's name
  std::string known_as;                  ///< a public data set: APY, AWA1, AWA2, CUB, FLO, SUN; empty: another
  std::string features_name;             ///< "res50", "features.npy", …
  std::string features_file;             ///< path; empty: from memory
  Matrix<float> features;                ///< N x d
  std::vector<std::int32_t> labels;      ///< N, class of each sample, 0-based
  std::vector<std::string> class_names;  ///< C
  Semantics semantics;                   ///< of all C classes
  Split split;                           ///< which samples train and which test
  std::vector<std::string> image_files;  ///< N, or empty
  std::optional<FeatureSource> source;   ///< what made the features; none: not known
  /// Features, semantics and split from elsewhere, by values that read the same files from any place: absolute paths,
  /// "standard". Empty where the folder's own files were read.
  LoadOptions chosen;
  bool generated = false;             ///< the features are synthetic: no published result is about them
  std::vector<std::string> notes;     ///< what the reader had to assume, one sentence each
  std::optional<LoadOptions> loaded;  ///< what load_dataset was asked for; none: not from a folder

  std::size_t samples() const { return labels.size(); }       ///< N
  std::size_t classes() const { return class_names.size(); }  ///< C
  /// Classes with a sample in trainval, ascending.
  std::vector<std::int32_t> seen_classes() const;
  /// Classes with a sample in test_unseen, ascending.
  std::vector<std::int32_t> unseen_classes() const;
};

/// Reads an xlsa17-style or plain folder. Throws bad_input naming file, field, expectation and remedy.
Dataset load_dataset(const std::filesystem::path& folder, const LoadOptions& options = {},
                     ProgressObserver* progress = nullptr);

/// The files of features and labels that save_dataset writes.
enum class DataFormat { npy, csv };

/// Writes `data` as a plain folder (made if need be), each file atomically.
void save_dataset(const Dataset& data, const std::filesystem::path& folder, DataFormat format = DataFormat::npy);

/// CRC-32 of the ascending 0-based indices as little-endian int32: tells versions of a split apart.
std::uint32_t index_checksum(std::vector<std::int32_t> indices);

}  // namespace parsnets
