#pragma once
// A check of HDF5 metadata before libhdf5 sees it. Internal to the v7.3 MAT reader.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace parsnets::mat {

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
  /// Chunks of datasets go to `found`, if it is given. Objects that lie beside each other share a `budget`: the bytes
  /// that they may still take. Without it, one may take all of the file.
  void object(std::uint64_t address, std::string_view label, std::vector<ChunkPlace>* found = nullptr,
              std::uint64_t* budget = nullptr);
  /// The chunks of the dataset at `address`, of at most 2 dimensions, sorted by place. Checks as object() does.
  std::vector<ChunkPlace> chunks(std::uint64_t address, std::string_view label);

 private:
  class Cursor;

  [[noreturn]] void damaged(std::string expected, std::string found) const;
  [[noreturn]] void too_new(const std::string& what) const;
  void take(std::uint64_t bytes);
  std::vector<unsigned char> bytes(std::uint64_t address, std::uint64_t count);
  void messages(std::vector<unsigned char> chunk, bool second_version, bool with_order, std::uint64_t limit);
  void message(unsigned type, unsigned flags, Cursor body);
  std::uint64_t datatype(Cursor& in, int depth);  ///< bytes of a value
  std::uint64_t dataspace(Cursor& in);            ///< how many values
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
  std::uint64_t whole_ = 0;                   ///< budget of one object
  std::uint64_t* budget_ = &whole_;           ///< bytes it may still make us read: its parts cannot overlap
  std::uint64_t names_left_ = 0;              ///< bytes of names that entries of a group may still have
  std::vector<ChunkPlace>* found_ = nullptr;  ///< where object() collects chunks
};

}  // namespace parsnets::mat
