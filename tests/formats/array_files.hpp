#pragma once
// MAT files and .npz archives for tests of their readers, written by scipy, h5py and numpy.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/matrix.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

enum class MatVersion { v5, v5_uncompressed, v73 };

/// What a file is to hold, in this order.
class ArrayFile {
 public:
  /// n x d values; a MAT file has them as d x n.
  ArrayFile& add(const std::string& name, MatrixView<const float> values);
  ArrayFile& add(const std::string& name, MatrixView<const double> values);
  ArrayFile& add(const std::string& name, const std::vector<std::int32_t>& values);
  /// A cell array of char vectors, or an array of strings.
  ArrayFile& add(const std::string& name, const std::vector<std::string>& values);

  void write_mat(const std::filesystem::path& path, MatVersion version) const;
  void write_npz(const std::filesystem::path& path, bool compressed = true) const;
  const TempDir& parts() const { return parts_; }

 private:
  std::string part(const std::string& name, const char* ending);

  TempDir parts_;
  int count_ = 0;
};

/// The data set as an xlsa17-style folder: <features>.mat and a <semantics>_splits.mat of each table.
void save_xlsa17(const Dataset& data, const std::filesystem::path& folder, MatVersion version = MatVersion::v5);
/// As a folder of this format: npy, npz, csv, mat5, mat5-uncompressed or mat73.
void save_as(const Dataset& data, const std::filesystem::path& folder, const std::string& format);

}  // namespace parsnets::test
