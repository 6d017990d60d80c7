// The header of a .npy array: a Python dict literal, parsed strictly. Written by hand because no packaged C++ library
// reads it without trusting what it says.

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/checked.hpp"
#include "formats/npy_format.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kMaxHeader = 1u << 20;
constexpr const char* kGetAgain = "the file is truncated or damaged: write it again with numpy.save";

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true)) {
        descr();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header_.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        shape();
      } else {
        fail("keys descr, fortran_order and shape, once each", "key " + in_quotes(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (position_ != text_.size()) fail("nothing after the dict", in_quotes(text_.substr(position_)));
    if (!has_descr || !has_order || !has_shape)
      fail("keys descr, fortran_order and shape", !has_descr   ? "no descr"
                                                  : !has_order ? "no fortran_order"
                                                               : "no shape");
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& found, const char* advice = kGetAgain) const {
    throw Error(BadInput{file_, "npy header", expected, found, advice});
  }

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
    if (!accept(c)) fail(fmt::format("'{}' at byte {} of the dict", c, position_), in_quotes(text_.substr(position_)));
  }

  std::string string() {
    skip_blanks();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      fail(fmt::format("a quoted word at byte {} of the dict", position_), in_quotes(text_.substr(position_)));
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
    fail("fortran_order True or False", in_quotes(text_.substr(position_)));
  }

  void shape() {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("a comma between the lengths in shape", in_quotes(text_.substr(position_)));
      skip_blanks();
      std::uint64_t length = 0;
      const char* start = text_.data() + position_;
      const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), length);
      if (error != std::errc{}) fail("shape with non-negative integers below 2^64", in_quotes(text_.substr(position_)));
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
    struct Numeric {
      char kind;
      std::uint64_t width;
      ElementType type;
    };
    static constexpr std::array<Numeric, 12> known{{{'f', 2, ElementType::f16},
                                                    {'f', 4, ElementType::f32},
                                                    {'f', 8, ElementType::f64},
                                                    {'i', 1, ElementType::i8},
                                                    {'u', 1, ElementType::u8},
                                                    {'i', 2, ElementType::i16},
                                                    {'u', 2, ElementType::u16},
                                                    {'i', 4, ElementType::i32},
                                                    {'u', 4, ElementType::u32},
                                                    {'i', 8, ElementType::i64},
                                                    {'u', 8, ElementType::u64},
                                                    {'b', 1, ElementType::u8}}};
    for (const auto& candidate : known)
      if (candidate.kind == kind && candidate.width == width && (width == 1 || order != '|')) {
        header_.type = candidate.type;
        return;
      }
    fail("real numbers (float16/32/64, int8…int64, uint8…uint64, bool) or strings", "type " + in_quotes(type),
         kNumbers);
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
    throw Error(BadInput{source.name(), "npy header, shape", "a 1-D or 2-D array",
                         fmt::format("a {}-D array, shape {}", header.shape.size(), shape),
                         "reshape it to samples x features before saving"});
  std::optional<std::uint64_t> bytes = header.is_text ? header.text_width * (header.text_is_unicode ? 4 : 1)
                                                      : static_cast<std::uint64_t>(element_size(header.type));
  for (const std::uint64_t length : header.shape) {
    if (length == 0)
      throw Error(BadInput{source.name(), "npy header, shape", "at least one value", "shape " + shape,
                           "the array is empty: save one with values"});
    if (bytes) bytes = checked_mul(*bytes, length);
  }
  const std::uint64_t available = source.size() - header.data_offset;
  if (!bytes || *bytes != available)
    throw Error(BadInput{source.name(), "values",
                         fmt::format("{} bytes for shape {}", bytes ? std::to_string(*bytes) : "more than 2^64", shape),
                         fmt::format("{} bytes", available), kGetAgain});
}

}  // namespace

NpyHeader read_npy_header(NpySource& source) {
  std::array<unsigned char, 8> start{};
  const auto not_npy = [&](const std::string& found, const char* advice) {
    throw Error(BadInput{source.name(), "first bytes", "a numpy array (\\x93NUMPY)", found, advice});
  };
  if (source.size() < 10) not_npy(fmt::format("{} bytes", source.size()), kGetAgain);
  source.read(start.data(), start.size(), "first bytes");
  if (std::memcmp(start.data(), "PK\3\4", 4) == 0) not_npy("a zip archive", "this is an .npz: rename it to .npz");
  if (std::memcmp(start.data(), "\x93NUMPY", 6) != 0)
    not_npy(in_quotes({reinterpret_cast<const char*>(start.data()), start.size()}), "write it with numpy.save");
  const unsigned major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0)
    throw Error(
        BadInput{source.name(), "npy version", "1.0, 2.0 or 3.0", fmt::format("{}.{}", major, minor), kGetAgain});
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::array<unsigned char, 4> raw{};
  source.read(raw.data(), length_bytes, "npy header length");
  const std::uint64_t length = raw[0] | raw[1] << 8 | std::uint64_t{raw[2]} << 16 | std::uint64_t{raw[3]} << 24;
  const std::uint64_t offset = start.size() + length_bytes + length;
  if (offset > source.size() || length > kMaxHeader)
    throw Error(BadInput{source.name(), "npy header length",
                         fmt::format("at most the {} bytes that follow (and 1 MB)",
                                     source.size() - std::min(source.size(), offset - length)),
                         std::to_string(length), kGetAgain});
  std::string text(length, '\0');
  source.read(text.data(), text.size(), "npy header");
  NpyHeader header = HeaderParser(text, source.name()).parse();
  header.data_offset = offset;
  check_shape(header, source);
  return header;
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
