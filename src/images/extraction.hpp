#pragma once
// From photographs to a data set folder: features, labels, names of the image files.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.hpp"
#include "images/backbone.hpp"
#include "images/image_header.hpp"
#include "images/image_list.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct ExtractionOptions {
  std::filesystem::path attributes;  ///< table of classes; empty: that of the folder, if it has one
  /// File of features that stay for other runs and data sets, whatever the photographs are called; the data set is then
  /// written again where there is one. Empty: in the folder until the data set is complete.
  std::filesystem::path store;
  ImageLimits limits;              ///< photographs beyond them are not read
  std::uint64_t memory_limit = 0;  ///< bytes of the process; 0: none
};

struct Extraction {
  std::size_t images = 0;               ///< rows of features
  std::size_t continued = 0;            ///< of them from an earlier run
  std::size_t dimensions = 0;           ///< columns
  std::vector<std::string> classes;     ///< of the data set: those of the table of attributes, or with images
  std::vector<std::string> unreadable;  ///< one message each, in the order of the list
  std::vector<std::string> classes_without_images;  ///< that had some, none of them readable, or an empty folder
  bool has_labels = false, has_attributes = false;
};

/// Whether a folder has files of a data set, other than attributes and a split.
bool holds_data_set(const std::filesystem::path& folder);

/// Throws bad_input unless the table has a row for every class of the list; before long work.
void check_attributes(const std::filesystem::path& table, const ImageList& list);

/// Runs `backbone` over the list and writes a plain data set folder: features.npy, labels.npy (or labels.csv with class
/// names, without attributes), image_files.csv, attributes.csv, extraction.json. The
/// features of finished photographs are in extraction.partial until all are done: when cancelled or interrupted, the
/// same call continues, and the result has the same bytes. Images that cannot be read are left out; throws bad_input
/// when none can, and failure when memory is short. Throws usage when the folder has a data set already, or when
/// `memory_limit` is too low.
Extraction extract_features(Backbone& backbone, const FeatureSource& source, const ImageList& list,
                            const std::filesystem::path& folder, const ExtractionOptions& options, ThreadPool& pool,
                            ProgressObserver* progress = nullptr);

// Features of photographs that are done, by the content of the photographs: a later run continues from them.

/// extraction.partial in a folder or a store, held against other processes. Records are appended, each with a checksum.
class PartialFeatures {
 public:
  /// Continues, or begins: makes the folder of `file`, and removes both in the end if nothing came into it. Unless it
  /// is a store, the folder is that of a data set: throws usage where it has one already. Waits for another process
  /// that holds the file. Throws bad_input when it is about another network or other settings. What is damaged at its
  /// end is left out, and `progress` is told.
  PartialFeatures(const std::filesystem::path& file, bool is_store, const FeatureSource& source,
                  ProgressObserver* progress);
  ~PartialFeatures();

  /// Whether it has features of a photograph of this content (sha256_of): neither names nor times tell photographs
  /// apart for sure.
  bool has(const std::string& sha256) const { return entries_.contains(sha256); }
  /// Whether it had them before this object.
  bool had(const std::string& sha256) const { return has(sha256) && entries_.at(sha256) < begun_; }
  /// `features`: dimensions values. Throws failure.
  void append(const std::string& sha256, std::span<const float> features);
  /// Of a photograph that it has.
  void read(const std::string& sha256, std::span<float> features) const;
  std::size_t size() const { return entries_.size(); }
  const std::filesystem::path& file() const { return file_; }
  /// Once the data set is complete: removes the file, unless it is a store.
  void finish();

 private:
  bool read_at(std::uint64_t offset, void* data, std::size_t bytes) const;  ///< whether all of it could be read
  void write_at(std::uint64_t offset, std::string_view bytes);
  void cut_off(std::uint64_t size);
  void read_header(const FeatureSource& source);
  void read_entries();

  std::filesystem::path file_;
  bool is_store_;
  std::vector<std::filesystem::path> made_;  ///< folders that this object made, the deepest first
  std::size_t dimensions_;
  std::unique_ptr<FileLock> lock_;
  mutable std::fstream stream_;
  std::uint64_t end_ = 0;                                   ///< of the records that are whole
  std::uint64_t begun_ = 0;                                 ///< the same, when it was opened
  std::unordered_map<std::string, std::uint64_t> entries_;  ///< SHA-256 -> offset of the features
};

}  // namespace parsnets
