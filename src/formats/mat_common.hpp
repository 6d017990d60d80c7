#pragma once
// What the MATLAB readers of both versions share. Internal to `mat*.cpp`.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/element_type.hpp"
#include "formats/mat.hpp"

namespace parsnets::mat {

/// Deflate never expands by more than this, so a file that declares more is lying.
inline constexpr std::uint64_t kMaxExpansion = 1032;
inline constexpr std::uint64_t kExpansionSlack = 4096;  ///< bytes, for headers
/// Text is names of classes and files: what takes more bytes than the file and these is damage. Strings of fewer bytes
/// count as if they had so many, which is half of what they take in memory.
inline constexpr std::uint64_t kSpareText = 4u << 20, kLeastOfString = 16;

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
/// Whether MATLAB calls arrays of numbers so.
bool is_numeric_kind(std::string_view kind);

/// A rectangle of values as the file stores them.
struct RawTile {
  std::uint64_t row = 0, col = 0, rows = 0, cols = 0;
  const unsigned char* data = nullptr;
  std::uint64_t row_bytes = 0;  ///< from one row to the next
};
using TakeTile = std::function<void(const RawTile&)>;

/// Hands rows x cols values of `value_bytes` that lie one after the other to `take`, in tiles of bounded size.
/// `read(destination, bytes)` reads the next bytes.
void read_in_tiles(std::uint64_t rows, std::uint64_t cols, std::size_t value_bytes,
                   const std::function<void(void*, std::size_t)>& read, const TakeTile& take);

/// A variable, or a cell of one, whose values are still in the file. Its methods throw bad_input.
class Array {
 public:
  virtual ~Array() = default;

  /// Before read(), of a real numeric matrix: finds `type` and `order`, and checks that the file has all its values.
  virtual void start(const MatrixPlace& place) = 0;
  /// Calls `take` with every value once. MATLAB's columns are the rows of tiles.
  virtual void read(const TakeTile& take) = 0;
  /// The rows of a char array. Takes their bytes from `budget`.
  virtual std::vector<std::string> chars(std::uint64_t& budget) = 0;
  /// How many cells it has.
  virtual std::uint64_t cells() = 0;
  /// Cell i, which is asked for after the one before was finished. `label` names it in messages.
  virtual std::unique_ptr<Array> cell(std::uint64_t i, const std::string& label) = 0;
  /// Equal for cells that are one object in the file; 0: it has no other.
  virtual std::uint64_t identity_of_cell(std::uint64_t) { return 0; }
  /// Call after all was read: checks what is behind it.
  virtual void finish() {}

  std::string kind;
  std::vector<std::uint64_t> shape;  ///< as MATLAB has it
  bool complex = false, empty = false;
  ElementType type = ElementType::f64;
  std::endian order = std::endian::native;
};

}  // namespace parsnets::mat
