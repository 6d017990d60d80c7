#pragma once
// The raw values of an HDF5 dataset. Internal.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "formats/mat_v73.hpp"
#include "formats/mat_v73_check.hpp"

namespace parsnets::mat {

/// A rectangle of values as the file stores them.
struct RawTile {
  std::uint64_t row = 0, col = 0, rows = 0, cols = 0;
  const unsigned char* data = nullptr;
  std::uint64_t row_bytes = 0;  ///< from one row to the next
};

/// The values of a dataset of at most 2 dimensions (a vector is one row), in tiles of bounded size.
class RawData {
 public:
  /// Throws bad_input when the dataset declares more than the file can hold, or is stored in a way that is not read.
  RawData(InputFile& file, Hdf5Check& check, hid_t dataset, std::string_view label);

  std::uint64_t rows() const { return extent_[0]; }
  std::uint64_t cols() const { return extent_[1]; }
  std::size_t value_bytes() const { return value_bytes_; }
  /// What read() needs: a chunk as it is stored, inflated and unshuffled.
  std::uint64_t working_bytes() const { return layout_ == H5D_CHUNKED ? 3 * chunk_bytes_ : 0; }
  /// Calls `take` with every value once.
  void read(const std::function<void(const RawTile&)>& take);
  /// All values, row after row; for small datasets.
  std::vector<unsigned char> read_all();

 private:
  void read_contiguous(const std::function<void(const RawTile&)>& take);
  void read_chunks(const std::function<void(const RawTile&)>& take);
  const unsigned char* unpack(const std::vector<unsigned char>& stored, std::uint32_t skipped);
  [[noreturn]] void damaged(std::string expected, std::string found) const;

  InputFile& file_;
  hid_t dataset_;
  std::string label_;
  std::size_t rank_ = 0, value_bytes_ = 0;
  std::array<hsize_t, 2> extent_{1, 1}, chunk_{1, 1};
  H5D_layout_t layout_ = H5D_CONTIGUOUS;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<ChunkPlace> chunks_;
  std::vector<H5Z_filter_t> filters_;
  std::vector<unsigned char> fill_, plain_, shuffled_;
};

}  // namespace parsnets::mat
