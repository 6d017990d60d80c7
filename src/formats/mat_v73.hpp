#pragma once
// HDF5 for the v7.3 MAT reader: handles that close themselves, one lock, quiet errors. Internal.

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"

namespace parsnets::mat {

/// While one lives, this thread alone uses HDF5 (whose Debian build is not thread-safe) and HDF5 prints nothing.
/// May be nested.
class Hdf5Guard {
 public:
  Hdf5Guard();
  ~Hdf5Guard();
  Hdf5Guard(const Hdf5Guard&) = delete;
  Hdf5Guard& operator=(const Hdf5Guard&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Owns an HDF5 identifier.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  ~Hdf5Handle() { close(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    if (this != &other) {
      close();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }

  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  /// False when HDF5 reports a failure.
  bool close();

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// What HDF5 said last went wrong, at its origin.
std::string hdf5_reason();
/// Access properties for files: no locks on them, so that read-only disks work.
Hdf5Handle file_access();

inline constexpr const char *kClassAttribute = "MATLAB_class", *kEmptyAttribute = "MATLAB_empty",
                            *kSparseAttribute = "MATLAB_sparse";

/// Where a chunk of a dataset is stored.
struct ChunkPlace {
  std::array<std::uint64_t, 2> at{};    ///< its first row and column (a vector is one row)
  std::uint64_t offset = 0, bytes = 0;  ///< in the file, user block included
  std::uint32_t skipped_filters = 0;    ///< a bit for each
};

/// Reads the structures libhdf5 is about to read and throws bad_input where a length, a count or an address does not
/// fit. Addresses are HDF5's: relative to the end of the user block.
class Hdf5Check {
 public:
  /// Checks the superblock and the root group.
  explicit Hdf5Check(InputFile& file);

  /// Checks the object header at `address`, its messages and the indices they point to. `label` is for messages.
  void object(std::uint64_t address, std::string_view label);
  /// The chunks of the dataset at `address`, of at most 2 dimensions, sorted by place. Checks as object() does.
  std::vector<ChunkPlace> chunks(std::uint64_t address, std::string_view label);

 private:
  class Cursor;
  struct Type {
    std::uint64_t size = 0;
  };
  struct Space {
    std::uint64_t values = 1;
  };

  [[noreturn]] void damaged(std::string expected, std::string found) const;
  [[noreturn]] void too_new(const std::string& what) const;
  std::vector<unsigned char> bytes(std::uint64_t address, std::uint64_t count);
  void messages(std::vector<unsigned char> chunk, bool second_version, bool with_order, std::uint64_t limit);
  void message(unsigned type, unsigned flags, Cursor body);
  Type datatype(Cursor& in, int depth);
  Space dataspace(Cursor& in);
  void attribute(Cursor in);
  void fill(unsigned type, Cursor in);
  void filters(Cursor in);
  void layout(Cursor in);
  void symbol_table(std::uint64_t tree, std::uint64_t heap);
  void tree(std::uint64_t address, unsigned kind, int parent_level, std::uint64_t key_bytes,
            const std::vector<unsigned char>& names);
  void symbols(std::uint64_t address, const std::vector<unsigned char>& names);

  InputFile& file_;
  std::string label_;
  std::uint64_t base_ = 0;
  unsigned leaf_k_ = 4, group_k_ = 16, chunk_k_ = 32;
  std::uint64_t budget_ = 0;                  ///< bytes one object may still make us read: its parts cannot overlap
  std::vector<ChunkPlace>* found_ = nullptr;  ///< where chunks() collects them
};

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
