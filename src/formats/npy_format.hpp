#pragma once
// The .npy format itself, shared by plain files (npy.cpp) and archive members (npz.cpp).

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/npy.hpp"

namespace parsnets {

/// The bytes of one array, read forwards.
class NpySource {
 public:
  NpySource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  virtual ~NpySource() = default;
  NpySource(const NpySource&) = delete;
  NpySource& operator=(const NpySource&) = delete;

  const std::string& name() const { return name_; }  ///< for messages
  std::uint64_t size() const { return size_; }       ///< header and values together
  /// Reads exactly `bytes`; throws bad_input naming `field` when there are fewer.
  virtual void read(void* destination, std::size_t bytes, std::string_view field) = 0;
  /// Call after the last value: throws bad_input when a checksum over all bytes does not fit.
  virtual void finish() {}

 private:
  std::string name_;
  std::uint64_t size_;
};

/// A member of an .npz. Throws bad_input when the archive or the member is missing, damaged, encrypted or repeated, or
/// claims more bytes than deflate can pack into it.
std::unique_ptr<NpySource> open_npz_member(const std::filesystem::path& file, const std::string& member);

/// Reads the header from the start of `source`: a numeric or text array with one or two dimensions, none of them zero,
/// whose values take exactly the bytes that follow. Throws bad_input otherwise.
NpyHeader read_npy_header(NpySource& source);

inline constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';

/// Header of a C-ordered array, padded as numpy does so that the values start at a multiple of 64.
std::string npy_header_text(std::string_view descr, const std::vector<std::uint64_t>& shape);

}  // namespace parsnets
