// .npy files and the arrays in them: mapped where the bytes are already what we want, else streamed.

#include "formats/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kReadBytes = 1u << 20;      // bytes of one read
constexpr std::size_t kPanelValues = 512u << 10;  // values of one Fortran panel: at most 4 MB raw and 4 MB converted

constexpr std::uint64_t kMaxHeader = 1u << 20;
constexpr const char* kGetAgain = "the file is truncated or damaged: write it again with numpy.save";

/// The header of a .npy array: a Python dict literal, parsed strictly. Written by hand because no packaged C++ library
/// reads it without trusting what it says.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    std::vector<std::string> missing{"descr", "fortran_order", "shape"};
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (std::erase(missing, key) == 0)
        fail("keys descr, fortran_order and shape, once each", "key " + in_quotes(key));
      if (key == "descr") descr();
      if (key == "fortran_order") header_.fortran_order = boolean();
      if (key == "shape") shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (position_ != text_.size()) fail("nothing after the dict", rest());
    if (!missing.empty()) fail("keys descr, fortran_order and shape", "no " + missing.front());
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& found, const char* advice = kGetAgain) const {
    throw Error(BadInput{file_, "npy header", expected, found, advice});
  }

  std::string rest() const { return in_quotes(text_.substr(position_)); }
  void skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool accept(char c) {
    skip_blanks();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' at byte {} of the dict", c, position_), rest());
  }

  std::string string() {
    skip_blanks();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(fmt::format("a quoted word at byte {} of the dict", position_), rest());
    std::string word(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return word;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    fail("fortran_order True or False", rest());
  }

  void shape() {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("a comma between the lengths in shape", rest());
      skip_blanks();
      std::uint64_t length = 0;
      const char* start = text_.data() + position_;
      const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), length);
      if (error != std::errc{}) fail("shape with non-negative integers below 2^64", rest());
      position_ += static_cast<std::size_t>(end - start);
      if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // numpy under Python 2
      header_.shape.push_back(length);
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma) fail("a tuple as shape, e.g. (3,)", "a number in parentheses");
  }

  void descr() {
    skip_blanks();
    if (position_ < text_.size() && (text_[position_] == '[' || text_[position_] == '('))
      fail("an array of numbers or strings", "a structured array (a record per element)",
           "save each field as an array of its own");
    const std::string type = string();
    const char* kNumbers = "save it as numbers, e.g. numpy.save(file, array.astype('float32'))";
    if (type.size() < 2 || !std::strchr("<>=|", type[0])) fail("a type such as '<f4'", in_quotes(type), kNumbers);
    const char order = type[0], kind = type[1];
    if (kind == 'O')
      fail("an array of numbers or strings", "Python objects (a pickle)",
           "pickles can run code and are not read: save it as numbers or as strings (array.astype('U'))");
    if (kind == 'c') fail("real numbers", "complex numbers " + in_quotes(type), "save the real part");
    std::uint64_t width = 0;
    const char* last = type.data() + type.size();
    const auto [end, error] = std::from_chars(type.data() + 2, last, width);
    if (error != std::errc{} || end != last) fail("a type such as '<f4'", in_quotes(type), kNumbers);
    header_.big_endian = order == '>' || (order == '=' && std::endian::native == std::endian::big);
    if (kind == 'U' || kind == 'S') {
      if (width == 0 || width > kMaxHeader * 64 || (kind == 'U' && order == '|'))
        fail("strings of at least one character", in_quotes(type), "save them again with numpy.save");
      header_.is_text = true;
      header_.text_is_unicode = kind == 'U';
      header_.text_width = width;
      return;
    }
    const auto number = kind == 'b' && width == 1 ? ElementType::u8 : element_type(kind, width);
    if (!number || (width > 1 && order == '|'))
      fail("real numbers (float16/32/64, int8…int64, uint8…uint64, bool) or strings", "type " + in_quotes(type),
           kNumbers);
    header_.type = *number;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
  NpyHeader header_;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

void check_shape(const NpyHeader& header, const NpySource& source) {
  const std::string shape = shape_text(header.shape);
  if (header.shape.empty() || header.shape.size() > 2)
    throw Error(BadInput{source.name, "npy header, shape", "a 1-D or 2-D array",
                         fmt::format("a {}-D array, shape {}", header.shape.size(), shape),
                         "reshape it to samples x features before saving"});
  std::optional<std::uint64_t> bytes = header.is_text ? header.text_width * (header.text_is_unicode ? 4 : 1)
                                                      : static_cast<std::uint64_t>(element_size(header.type));
  for (const std::uint64_t length : header.shape) {
    if (length == 0)
      throw Error(BadInput{source.name, "npy header, shape", "at least one value", "shape " + shape,
                           "the array is empty: save one with values"});
    if (bytes) bytes = checked_mul(*bytes, length);
  }
  const std::uint64_t available = source.size - header.data_offset;
  if (!bytes || *bytes != available)
    throw Error(BadInput{source.name, "values",
                         fmt::format("{} bytes for shape {}", bytes ? std::to_string(*bytes) : "more than 2^64", shape),
                         fmt::format("{} bytes", available), kGetAgain});
}

}  // namespace

NpyHeader read_npy_header(const NpySource& source) {
  std::array<unsigned char, 8> start{};
  const auto not_npy = [&](const std::string& found, const char* advice) {
    throw Error(BadInput{source.name, "first bytes", "a numpy array (\\x93NUMPY)", found, advice});
  };
  if (source.size < 10) not_npy(fmt::format("{} bytes", source.size), kGetAgain);
  source.read(start.data(), start.size(), "first bytes");
  if (std::memcmp(start.data(), "PK\3\4", 4) == 0) not_npy("a zip archive", "this is an .npz: rename it to .npz");
  if (std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
    not_npy(in_quotes({reinterpret_cast<const char*>(start.data()), start.size()}), "write it with numpy.save");
  const unsigned major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0)
    throw Error(BadInput{source.name, "npy version", "1.0, 2.0 or 3.0", fmt::format("{}.{}", major, minor), kGetAgain});
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::array<unsigned char, 4> raw{};
  source.read(raw.data(), length_bytes, "npy header length");
  const std::uint64_t length = raw[0] | raw[1] << 8 | std::uint64_t{raw[2]} << 16 | std::uint64_t{raw[3]} << 24;
  const std::uint64_t offset = start.size() + length_bytes + length;
  if (offset > source.size || length > kMaxHeader)
    throw Error(BadInput{source.name, "npy header length",
                         fmt::format("at most the {} bytes that follow (and 1 MB)",
                                     source.size - std::min(source.size, offset - length)),
                         std::to_string(length), kGetAgain});
  std::string text(length, '\0');
  source.read(text.data(), text.size(), "npy header");
  NpyHeader header = HeaderParser(text, source.name).parse();
  header.data_offset = offset;
  check_shape(header, source);
  return header;
}

namespace {

NpySource open_source(const NpyLocation& where) {
  if (!where.member.empty()) return open_npz_member(where.file, where.member);
  const auto file = std::make_shared<InputFile>(where.file);
  return {file->name(), file->size(), [file](void* destination, std::size_t bytes, std::string_view field) {
            file->read(destination, bytes, field);
          }};
}

template <class T>
void convert(const NpyHeader& header, const void* source, std::size_t count, T* destination) {
  convert_values(header.type, header.big_endian ? std::endian::big : std::endian::little, source, count, destination);
}

NpyHeader read_header_of_numbers(const NpySource& source) {
  NpyHeader header = read_npy_header(source);
  if (header.is_text)
    throw Error(BadInput{source.name, "npy header, descr", "an array of numbers", "an array of strings",
                         "save it as numbers, e.g. numpy.save(file, array.astype('float32'))"});
  return header;
}

template <class T>
void read_c_order(const NpySource& source, const NpyHeader& header, Matrix<T>& result, LoadProgress& progress) {
  const std::size_t width = element_size(header.type);
  std::vector<char> piece(std::min(kReadBytes, result.size() * width));
  UsedRows filled(result);
  for (std::size_t done = 0; done < result.size();) {
    const std::size_t count = std::min(piece.size() / width, result.size() - done);
    source.read(piece.data(), count * width, "values");
    convert(header, piece.data(), count, result.data() + done);
    filled.add(done / result.cols(), count / result.cols() + 1);
    done += count;
    progress.advance(count * width);
  }
}

// The file holds one column after the other. A panel of several columns (or, of very long columns, a part of one) is
// read and converted, then scattered into the rows.
template <class T>
void read_fortran_order(const NpySource& source, const NpyHeader& header, Matrix<T>& result, LoadProgress& progress) {
  constexpr std::size_t kRowBlock = 64;
  const std::size_t width = element_size(header.type), rows = result.rows(), cols = result.cols();
  const std::size_t panel_rows = std::min(rows, kPanelValues);
  const std::size_t panel_cols = std::min(cols, std::max<std::size_t>(1, kPanelValues / rows));
  std::vector<char> raw(panel_rows * panel_cols * width);
  std::vector<T> panel(panel_rows * panel_cols);
  for (std::size_t c = 0; c < cols; c += panel_cols) {
    const std::size_t columns = std::min(panel_cols, cols - c);
    for (std::size_t r = 0; r < rows; r += panel_rows) {
      const std::size_t height = std::min(panel_rows, rows - r);
      source.read(raw.data(), height * columns * width, "values");
      convert(header, raw.data(), height * columns, panel.data());
      for (std::size_t block = 0; block < height; block += kRowBlock)
        for (std::size_t k = 0; k < columns; ++k)
          for (std::size_t i = block; i < std::min(block + kRowBlock, height); ++i)
            result(r + i, c + k) = panel[k * height + i];
      progress.advance(height * columns * width);
    }
  }
}

/// Whether the values are as the matrix has them, once they are where floats may be.
bool is_plain_float(const NpyHeader& header) {
  return header.type == ElementType::f32 && header.big_endian == (std::endian::native == std::endian::big) &&
         header.is_row_major();
}

template <class T>
Matrix<T> stream_matrix(const NpySource& source, const NpyHeader& header, LoadProgress& progress) {
  Matrix<T> result(header.rows(), header.cols());
  if (header.is_row_major())
    read_c_order(source, header, result, progress);
  else
    read_fortran_order(source, header, result, progress);
  source.finish();
  return result;
}

/// Reads `bytes` at `offset` from the first value on.
using ReadAt = std::function<void(std::uint64_t offset, void* destination, std::size_t bytes)>;

// A matrix that is not in memory is written some rows at a time: the parts of all columns that belong to them.
void read_fortran_rows(const ReadAt& read, const NpyHeader& header, Matrix<float>& result, LoadProgress& progress) {
  constexpr std::size_t kPanel = 16;  // columns: 64 bytes of a row
  const std::size_t width = element_size(header.type), rows = result.rows(), cols = result.cols();
  const std::size_t most = std::min(rows, rows_of_a_block(cols * sizeof(float)));
  std::vector<char> raw(most * width);
  std::vector<float> panel(kPanel * most);
  for (std::size_t first = 0; first < rows; first += most) {
    const std::size_t height = std::min(most, rows - first);
    for (std::size_t c = 0; c < cols; c += kPanel) {
      const std::size_t wide = std::min(kPanel, cols - c);
      for (std::size_t k = 0; k < wide; ++k) {
        read(((c + k) * rows + first) * width, raw.data(), height * width);
        convert(header, raw.data(), height, panel.data() + k * height);
      }
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t k = 0; k < wide; ++k) result(first + i, c + k) = panel[k * height + i];
    }
    release_rows(result, first, height);
    progress.advance(height * cols * width);
  }
}

Matrix<float> read_to_disk(const NpyLocation& where, const NpySource& source, const NpyHeader& header,
                           const MatrixPlace& place, LoadProgress& progress) {
  Matrix<float> result = new_matrix(header.rows(), header.cols(), place, "the values of " + source.name);
  if (header.is_row_major()) {
    read_c_order(source, header, result, progress);
    source.finish();
  } else if (where.member.empty()) {
    InputFile file(where.file);
    const auto read = [&](std::uint64_t offset, void* destination, std::size_t bytes) {
      file.seek(header.data_offset + offset);
      file.read(destination, bytes, "values");
    };
    read_fortran_rows(read, header, result, progress);
  } else {  // a member can be read forwards alone
    const std::uint64_t all = source.size - header.data_offset;
    ScratchFile copy(all, "the columns of " + source.name);
    std::vector<char> piece(kReadBytes);
    for (std::uint64_t done = 0; done < all;) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), all - done));
      source.read(piece.data(), count, "values");
      copy.write_at(done, piece.data(), count);
      done += count;
    }
    source.finish();
    const auto read = [&](std::uint64_t offset, void* destination, std::size_t bytes) {
      copy.read_at(offset, destination, bytes);
    };
    read_fortran_rows(read, header, result, progress);
  }
  return result;
}

Matrix<float> map_matrix(const std::filesystem::path& file, const NpyHeader& header, const NpySource& source) {
  auto mapped = std::make_shared<MappedFile>(file);
  if (mapped->bytes().size() != source.size)
    throw Error(BadInput{source.name, "", "a file that does not change while it is read",
                         fmt::format("{} bytes, then {}", source.size, mapped->bytes().size()), "read it again"});
  // A mapping is page-aligned and data_offset a multiple of 4, so this pointer is aligned for float.
  auto* values = reinterpret_cast<float*>(mapped->bytes().data() + header.data_offset);
  return Matrix<float>::adopt_mapped(values, header.rows(), header.cols(), [mapped](float*) {});
}

}  // namespace

NpyHeader read_npy_header(const NpyLocation& where) { return read_npy_header(open_source(where)); }

Matrix<float> read_npy_float(const NpyLocation& where, ProgressObserver* observer, const MatrixPlace& place) {
  const auto source = open_source(where);
  const NpyHeader header = read_header_of_numbers(source);
  const std::uint64_t bytes = source.size - header.data_offset;
  LoadProgress progress(observer, where.file, bytes);
  if (where.member.empty() && is_plain_float(header) && header.data_offset % alignof(float) == 0) {
    Matrix<float> result = map_matrix(where.file, header, source);
    progress.advance(bytes);
    return result;
  }
  if (place.on_disk(header.rows(), header.cols())) return read_to_disk(where, source, header, place, progress);
  return stream_matrix<float>(source, header, progress);
}

Matrix<float> parse_npy_float(std::span<const std::byte> file, const std::string& name) {
  const auto read = [left = file, name](void* destination, std::size_t bytes, std::string_view field) mutable {
    if (bytes > left.size())
      throw Error(BadInput{name, std::string(field), fmt::format("{} bytes", bytes), fmt::format("{}", left.size()),
                           "send the whole array"});
    std::memcpy(destination, left.data(), bytes);
    left = left.subspan(bytes);
  };
  const NpySource source{name, file.size(), read};
  const NpyHeader header = read_header_of_numbers(source);
  const auto values = file.subspan(header.data_offset);
  if (is_plain_float(header) && reinterpret_cast<std::uintptr_t>(values.data()) % alignof(float) == 0)
    return Matrix<float>::adopt(const_cast<float*>(reinterpret_cast<const float*>(values.data())), header.rows(),
                                header.cols(), [](float*) {});
  LoadProgress progress(nullptr, name, source.size - header.data_offset);
  return stream_matrix<float>(source, header, progress);
}

NpyRowReader::NpyRowReader(const NpyLocation& where)
    : source_(open_source(where)), header_(read_header_of_numbers(source_)), left_(header_.rows()) {}

Matrix<float> NpyRowReader::next(std::size_t count) {
  Matrix<float> block(count, cols());
  LoadProgress silent(nullptr, source_.name, 0);
  read_c_order(source_, header_, block, silent);
  left_ -= count;
  if (left_ == 0) source_.finish();
  return block;
}

Matrix<double> read_npy_double(const NpyLocation& where) {
  const auto source = open_source(where);
  const NpyHeader header = read_header_of_numbers(source);
  LoadProgress silent(nullptr, where.file, source.size);
  return stream_matrix<double>(source, header, silent);
}

std::vector<std::string> read_npy_strings(const NpyLocation& where) {
  const auto source = open_source(where);
  const NpyHeader header = read_npy_header(source);
  if (!header.is_text || header.cols() != 1)
    throw Error(
        BadInput{source.name, "npy header", "a 1-D array of strings",
                 header.is_text ? "a 2-D array of strings" : fmt::format("an array of {}", element_name(header.type)),
                 "save them with numpy.save(file, numpy.array(names))"});
  const std::size_t unit = header.text_is_unicode ? 4 : 1;
  std::vector<unsigned char> cell(header.text_width * unit);
  std::vector<std::string> strings;
  for (std::size_t n = 0; n < header.rows(); ++n) {
    source.read(cell.data(), cell.size(), "values");
    std::size_t length = header.text_width;
    const auto character = [&](std::size_t i) {
      std::uint32_t value = 0;
      for (std::size_t k = 0; k < unit; ++k)
        value = value << 8 | cell[i * unit + (header.big_endian ? k : unit - 1 - k)];
      return value;
    };
    while (length > 0 && character(length - 1) == 0) --length;
    std::string text;
    bool valid = true;
    if (header.text_is_unicode)
      for (std::size_t i = 0; i < length && valid; ++i) valid = append_utf8(text, character(i));
    else
      text.assign(reinterpret_cast<const char*>(cell.data()), length);
    if (!valid || !is_utf8(text))
      throw Error(BadInput{source.name, fmt::format("string {}", n), "valid Unicode text", in_quotes(text),
                           "save the strings as numpy.array(names, dtype=str)"});
    strings.push_back(std::move(text));
  }
  source.finish();
  return strings;
}

void write_npy(const std::filesystem::path& file, const RowBlocks<float>& values) {
  AtomicFile out(file);
  out.write(npy_header_text(fmt::format("{}f4", kNativeOrder), {values.rows, values.cols}));
  for_each_block(values, [&](std::size_t, MatrixView<const float> block) {
    out.write(block.data(), block.size() * sizeof(float));
  });
  out.commit();
}

void write_npy(const std::filesystem::path& file, const std::vector<std::int32_t>& values) {
  AtomicFile out(file);
  out.write(npy_header_text(fmt::format("{}i4", kNativeOrder), {values.size()}));
  out.write(values.data(), values.size() * sizeof(std::int32_t));
  out.commit();
}

std::string npy_header_text(std::string_view descr, const std::vector<std::uint64_t>& shape) {
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape_text(shape));
  dict.resize((10 + dict.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\1\0", 8);
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace parsnets
