#pragma once
// The v5 MAT format ("MAT-File Level 5"): its numbers, and the bytes of one element as a stream. Internal.

#include <zlib.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"

namespace parsnets::mat {

inline constexpr std::size_t kHeaderBytes = 128, kHeaderTextBytes = 116;

/// Types of data elements.
enum MiType : std::uint32_t {
  kMiInt8 = 1,
  kMiUint8 = 2,
  kMiInt16 = 3,
  kMiUint16 = 4,
  kMiInt32 = 5,
  kMiUint32 = 6,
  kMiSingle = 7,
  kMiDouble = 9,
  kMiInt64 = 12,
  kMiUint64 = 13,
  kMiMatrix = 14,
  kMiCompressed = 15,
  kMiUtf8 = 16,
  kMiUtf16 = 17,
  kMiUtf32 = 18
};

/// Classes of arrays.
enum MxClass : std::uint32_t {
  kMxCell = 1,
  kMxStruct = 2,
  kMxObject = 3,
  kMxChar = 4,
  kMxSparse = 5,
  kMxDouble = 6,
  kMxSingle = 7,
  kMxUint8 = 9,
  kMxUint64 = 15,
  kMxFunction = 16,
  kMxOpaque = 17
};

inline constexpr std::uint32_t kFlagComplex = 0x0800, kFlagLogical = 0x0200;

/// Where a top-level element lies in the file: its payload, behind the tag.
struct ElementPlace {
  std::uint64_t offset = 0, bytes = 0;
  bool compressed = false;
};

/// The content of one top-level miMATRIX, front to back, inflated where it is compressed.
class ElementStream {
 public:
  /// `chunk` bytes of the file are read at a time. `label` names the element in messages.
  ElementStream(InputFile& file, const ElementPlace& place, std::endian order, std::size_t chunk, std::string label);
  ~ElementStream();
  ElementStream(const ElementStream&) = delete;
  ElementStream& operator=(const ElementStream&) = delete;

  /// Bytes of the miMATRIX as it declares them, checked against what the file can hold.
  std::uint64_t size() const { return size_; }
  void read(void* destination, std::size_t bytes);
  void skip(std::uint64_t bytes);
  /// Checks that a compressed stream ends here with the right checksum.
  void finish();

  std::endian order() const { return order_; }
  std::uint32_t u32(const unsigned char* bytes) const;
  const std::string& label() const { return label_; }
  void set_label(std::string label) { label_ = std::move(label); }
  [[noreturn]] void damaged(std::string expected, std::string found) const;

 private:
  std::size_t inflate_some(void* destination, std::size_t bytes);

  InputFile& file_;
  std::endian order_;
  std::string label_;
  bool compressed_, ended_ = false;
  std::uint64_t size_ = 0, file_left_ = 0;
  std::vector<unsigned char> buffer_;
  z_stream z_{};
};

/// The subelements of a miMATRIX, in order.
class MatrixBody {
 public:
  MatrixBody(ElementStream& stream, std::uint64_t bytes) : stream_(stream), left_(bytes) {}

  /// Goes to the next subelement (past what is left of this one); its type and bytes are then known.
  void next();
  std::uint32_t type() const { return type_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Reads the next `count` bytes of the subelement.
  void read(void* destination, std::size_t count);
  /// For a subelement that is itself a miMATRIX: its body. Finish() it before going on here.
  MatrixBody enter();
  /// Skips to the end.
  void finish();
  std::uint64_t left() const { return left_; }
  ElementStream& stream() { return stream_; }

 private:
  void leave();

  ElementStream& stream_;
  std::uint64_t left_;  ///< bytes of the body behind the subelement's tag
  std::uint32_t type_ = 0;
  std::uint64_t bytes_ = 0, payload_left_ = 0, padding_ = 0;
  bool small_ = false;
  std::array<unsigned char, 4> inline_{};
};

}  // namespace parsnets::mat
