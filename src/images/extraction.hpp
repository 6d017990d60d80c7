#pragma once
// From photographs to a data set folder: features, labels, names of the image files.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
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
  ImageLimits limits;                ///< photographs beyond them are not read
  std::uint64_t memory_limit = 0;    ///< bytes of the process; 0: none
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

// Features of the photographs that are done, while others are not: a later run continues from them.

/// extraction.partial in a folder, held against other processes. Records are appended, each with a checksum.
class PartialFeatures {
 public:
  /// Continues, or begins in a folder that has no data set: throws usage for one that has. Makes the folder, and
  /// removes it in the end if nothing came into it. Waits for another process that holds it. Throws bad_input when it
  /// is about another network or other settings. What is damaged at its end is left out, and `progress` is told.
  PartialFeatures(const std::filesystem::path& folder, const FeatureSource& source, ProgressObserver* progress);
  ~PartialFeatures();

  /// Whether it has features of some file of this name.
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// Whether they are of these bytes (sha256_of): neither sizes nor times tell photographs apart for sure.
  bool has(const std::string& name, const std::string& sha256) const;
  /// `features`: dimensions values. Throws failure.
  void append(const std::string& name, const std::string& sha256, std::span<const float> features);
  /// Of a name that it has.
  void read(const std::string& name, std::span<float> features) const;
  std::size_t size() const { return entries_.size(); }
  const std::filesystem::path& file() const { return file_; }
  /// Once the data set is complete.
  void remove();

 private:
  struct Entry {
    std::string sha256;
    std::uint64_t offset;  ///< of its features
  };
  bool read_at(std::uint64_t offset, void* data, std::size_t bytes) const;  ///< whether all of it could be read
  void write_at(std::uint64_t offset, std::string_view bytes);
  void cut_off(std::uint64_t size);
  void read_header(const FeatureSource& source);
  void read_entries();

  std::filesystem::path file_;
  std::vector<std::filesystem::path> made_;  ///< folders that this object made, the deepest first
  std::size_t dimensions_;
  std::unique_ptr<FileLock> lock_;
  mutable std::fstream stream_;
  std::uint64_t end_ = 0;  ///< of the records that are whole
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace parsnets
