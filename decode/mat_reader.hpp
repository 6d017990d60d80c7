#pragma once
// MATLAB files: v5 (plain and compressed, `mat_v5.cpp`) and v7.3 (HDF5, `mat_v73.cpp`), read inside the sandbox.
// A MATLAB matrix is column-major; it is handed on transposed (columns become rows), which moves no value.

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/element_type.hpp"
#include "formats/mat.hpp"
#include "input.hpp"

namespace parsnets::mat {

inline constexpr std::string_view kGetItAgain = "the file is damaged or truncated: copy or save it again";

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

/// Throws bad_input: `variable` should have been `expected` but is `found`. The library adds the file.
[[noreturn]] void refuse(std::string_view variable, std::string expected, std::string found,
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
  virtual void start() = 0;
  /// Calls `take` with every value once. MATLAB's columns are the rows of tiles.
  virtual void read(const TakeTile& take) = 0;
  /// The rows of a char array.
  virtual std::vector<std::string> chars() = 0;
  /// How many cells it has.
  virtual std::uint64_t cells() = 0;
  /// Cell i, which is asked for after the one before was finished. `label` names it in messages.
  virtual std::unique_ptr<Array> cell(std::uint64_t i, const std::string& label) = 0;
  /// Call after all was read: checks what is behind it.
  virtual void finish() {}

  std::string kind;
  std::vector<std::uint64_t> shape;  ///< as MATLAB has it
  bool complex = false, empty = false;
  ElementType type = ElementType::f64;
  std::endian order = std::endian::native;
};

/// A file open for reading.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual std::unique_ptr<Array> open_array(std::size_t index) = 0;
  std::vector<MatVariable> variables;
};

std::unique_ptr<Reader> open_v5(decode::Input& file);
std::unique_ptr<Reader> open_v73(decode::Input& file);
/// Tells the version by content; throws bad_input for v4, other files and damaged headers. `file` must outlive it.
std::unique_ptr<Reader> open(decode::Input& file);

/// Takes the values of a real numeric variable, each MATLAB column one row.
template <class T>
struct Sink {
  std::function<void(std::uint64_t rows, std::uint64_t cols)> start;
  /// `values`: rows x cols, from that row and column on.
  std::function<void(std::uint64_t row, std::uint64_t col, std::uint64_t rows, std::uint64_t cols, const T* values)>
      take;
};
template <class T>
void read_columns(Reader& file, std::size_t index, const Sink<T>& sink);

/// Cell array of char vectors (or char matrix, one row each) as UTF-8 strings, in column-major order.
std::vector<std::string> read_strings(Reader& file, std::size_t index);

}  // namespace parsnets::mat
