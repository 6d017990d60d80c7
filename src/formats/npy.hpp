#pragma once
// numpy's .npy files and .npz archives: every real numeric type, both byte orders, C and Fortran order.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "formats/element_type.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"

namespace parsnets {

/// What a .npy header says.
struct NpyHeader {
  ElementType type = ElementType::f32;  ///< numeric arrays
  bool big_endian = false;
  bool fortran_order = false;
  bool is_text = false;  ///< '<U..' / '|S..' arrays: text_width characters each
  std::uint64_t text_width = 0;
  bool text_is_unicode = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;  ///< bytes before the first value

  std::size_t rows() const { return shape[0]; }
  std::size_t cols() const { return shape.size() == 2 ? shape[1] : 1; }
  bool is_row_major() const { return !fortran_order || rows() == 1 || cols() == 1; }
};

/// One array: a .npy file, or a member of an .npz. Every reader throws bad_input naming file (and member), field,
/// expectation and remedy; sizes are checked against the bytes that are there before memory is allocated.
/// 1-D arrays of n are read as n x 1.
struct NpyLocation {
  std::filesystem::path file;
  std::string member;  ///< without ".npy"; empty for a .npy file
};

/// The bytes of one array, read forwards.
struct NpySource {
  std::string name;        ///< for messages
  std::uint64_t size = 0;  ///< header and values together
  /// Reads exactly `bytes`; throws bad_input naming `field` when there are fewer.
  std::function<void(void* destination, std::size_t bytes, std::string_view field)> read;
  /// Call after the last value: throws bad_input when a checksum over all bytes does not fit.
  std::function<void()> finish = [] {};
};

/// A member of an .npz. Throws bad_input when the archive or the member is missing, damaged, encrypted or repeated, or
/// claims more bytes than deflate can pack into it.
NpySource open_npz_member(const std::filesystem::path& file, const std::string& member);
/// All members in their order. Throws bad_input as open_npz_member.
void visit_npz(const std::filesystem::path& file,
               const std::function<void(const std::string& member, const NpySource& source)>& take);

/// A numeric or text array with one or two dimensions, none of them zero, whose values take exactly the bytes that
/// follow. Throws bad_input otherwise.
NpyHeader read_npy_header(const NpyLocation& where);
NpyHeader read_npy_header(const NpySource& source);
/// n x d float32. A C-ordered little-endian float32 .npy is mapped, not copied; others are streamed into one matrix.
Matrix<float> read_npy_float(const NpyLocation& where, ProgressObserver* progress = nullptr,
                             const MatrixPlace& place = {});
/// The same of a .npy file in memory, which must outlive the matrix: float32 values stay where they are, and must not
/// be changed. `name` stands for the file in errors.
Matrix<float> parse_npy_float(std::span<const std::byte> file, const std::string& name);
/// The rows of an array in their order, some at a time: memory does not grow with their number. Throws bad_input as
/// read_npy_float.
class NpyRowReader {
 public:
  explicit NpyRowReader(const NpyLocation& where);

  bool row_by_row() const { return header_.is_row_major(); }  ///< false: next() must not be called
  std::size_t rows() const { return header_.rows(); }
  std::size_t cols() const { return header_.cols(); }
  /// The next `count` rows, which must be there: count x cols.
  Matrix<float> next(std::size_t count);

 private:
  NpySource source_;
  NpyHeader header_;
  std::size_t left_;  ///< rows
};
Matrix<double> read_npy_double(const NpyLocation& where);
/// 1-D array of '<U' or '|S' strings as UTF-8.
std::vector<std::string> read_npy_strings(const NpyLocation& where);
/// Member names of an .npz, without ".npy".
std::vector<std::string> npz_members(const std::filesystem::path& file);

inline constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';

/// Header of a C-ordered array, padded as numpy does so that the values start at a multiple of 64.
std::string npy_header_text(std::string_view descr, const std::vector<std::uint64_t>& shape);

/// Atomic writers: float32 n x d in C order, int32 as a 1-D array.
void write_npy(const std::filesystem::path& file, const RowBlocks<float>& values);
inline void write_npy(const std::filesystem::path& file, MatrixView<const float> values) {
  write_npy(file, blocks_of(values));
}
void write_npy(const std::filesystem::path& file, const std::vector<std::int32_t>& values);

}  // namespace parsnets
