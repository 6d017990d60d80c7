#pragma once
// Features of the photographs that are done, while others are not: a later run continues from them.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_lock.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

/// extraction.partial in a folder, held against other processes. Records are appended, each with a checksum.
class PartialFeatures {
 public:
  /// Continues, or begins in a folder that has no data set: throws usage for one that has. Makes the folder, and
  /// removes it in the end if nothing came into it. Waits for another process that holds it. Throws bad_input when it
  /// is about another network or other settings. What is damaged at its end, and all of an earlier version's, is left
  /// out, and `progress` is told.
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
  void read_header(const FeatureSource& source, ProgressObserver* progress);
  void read_entries();

  std::filesystem::path file_;
  std::vector<std::filesystem::path> made_;  ///< folders that this object made, the deepest first
  std::size_t dimensions_;
  std::unique_ptr<FileLock> lock_;
  int fd_ = -1;
  std::uint64_t end_ = 0;  ///< of the records that are whole
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace parsnets
