#pragma once
// What the MATLAB readers of both versions share. Internal to `mat*.cpp`.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mat.hpp"

namespace parsnets::mat {

/// Deflate never expands by more than this, so a file that declares more is lying.
inline constexpr std::uint64_t kMaxExpansion = 1032;
inline constexpr std::uint64_t kExpansionSlack = 4096;  ///< bytes, for headers
/// Text is names of classes and files; more than this is damage.
inline constexpr std::uint64_t kMaxCharBytes = 64u << 20;  ///< of one char array
inline constexpr std::uint64_t kMaxTextBytes = 256u << 20;
inline constexpr std::uint64_t kMaxStrings = 1u << 24;

inline constexpr std::string_view kGetItAgain = "the file is damaged or truncated: copy or save it again";

std::unique_ptr<MatFile> open_v5(const std::filesystem::path& path);
std::unique_ptr<MatFile> open_v73(const std::filesystem::path& path);

enum class CharCode { latin1, utf8, utf16, utf32 };

/// The elements of a char array: UTF-16 units for utf16, code points for the others. Empty when they are malformed.
std::optional<std::u32string> decode_chars(CharCode code, std::endian order, std::span<const unsigned char> bytes);
/// UTF-8 of code points, surrogate pairs joined; empty when a surrogate stands alone or a value is no code point.
std::optional<std::string> to_utf8(std::u32string_view elements);
/// UTF-16 units of code points.
std::u32string to_utf16(std::u32string_view code_points);
/// The rows of a rows x cols column-major char array as UTF-8, the blanks that pad several rows taken off. `elements`
/// has rows*cols items, or any number when rows is 1. Empty when they do not fit or are malformed.
std::optional<std::vector<std::string>> char_rows(std::u32string_view elements, std::uint64_t rows, std::uint64_t cols);

/// Throws bad_input: `variable` should have been `expected` but is `found`.
[[noreturn]] void refuse(const std::string& file, std::string_view variable, std::string expected, std::string found,
                         std::string_view advice = kGetItAgain);
/// "2048x11788".
std::string shape_text(const std::vector<std::uint64_t>& shape);
/// What a numeric reader says of a variable of another kind, e.g. a cell.
std::string kind_advice(std::string_view kind);
bool is_numeric_kind(std::string_view kind);

/// rows x cols values to read into; single ones may go to a temporary file.
template <class T>
Matrix<T> result_matrix(std::size_t rows, std::size_t cols, const MatrixPlace& place, const std::string& file) {
  if constexpr (std::is_same_v<T, float>)
    return new_matrix(rows, cols, place, "the values of " + file);
  else
    return Matrix<T>(rows, cols);
}

/// Tells the observer every few MB.
class ByteProgress {
 public:
  ByteProgress(ProgressObserver* observer, std::string stage, std::uint64_t total_bytes);
  void advance(std::uint64_t bytes);
  void finish();

  static constexpr std::uint64_t kStep = 4u << 20;

 private:
  void tell();

  ProgressObserver* observer_;
  std::string stage_;
  std::uint64_t total_, done_ = 0, told_ = 0;
};

}  // namespace parsnets::mat
