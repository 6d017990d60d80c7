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

/// What says that a file is still the same.
struct ImageKey {
  std::uint64_t size = 0;
  std::int64_t changed = 0;  ///< nanoseconds
  bool operator==(const ImageKey&) const = default;
};
/// Throws bad_input where there is no such file.
ImageKey key_of(const std::filesystem::path& image);

/// extraction.partial in a folder, held against other processes. Records are appended, each with a checksum.
class PartialFeatures {
 public:
  /// Continues, or begins in a folder that has no data set: throws usage for one that has. Makes the folder, and
  /// removes it in the end if nothing came into it. Waits for another process that holds it. Throws bad_input when it
  /// is about another network or other settings. What is damaged at its end is left out, and `progress` is told.
  PartialFeatures(const std::filesystem::path& folder, const FeatureSource& source, ProgressObserver* progress);
  ~PartialFeatures();

  bool has(const std::string& name, const ImageKey& key) const;
  /// `features`: dimensions values. Throws failure.
  void append(const std::string& name, const ImageKey& key, std::span<const float> features);
  /// Of a name that it has.
  void read(const std::string& name, std::span<float> features) const;
  std::size_t size() const { return entries_.size(); }
  const std::filesystem::path& file() const { return file_; }
  /// Once the data set is complete.
  void remove();

 private:
  struct Entry {
    ImageKey key;
    std::uint64_t offset;  ///< of its features
  };
  void read_header(const FeatureSource& source);
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
