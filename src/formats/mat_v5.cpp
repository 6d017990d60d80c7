// Reader of v5 MAT files ("MAT-File Level 5", plain and compressed, both byte orders), on zlib. Not libmatio: it
// allocates what a header declares and holds an inflated element whole, and its doubles beside it; here the bytes go
// straight to where they are wanted.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/checked.hpp"
#include "base/file.hpp"
#include "formats/element_type.hpp"
#include "formats/mat_common.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

inline constexpr std::size_t kHeaderBytes = 128;

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

ElementStream::ElementStream(InputFile& file, const ElementPlace& place, std::endian order, std::size_t chunk,
                             std::string label)
    : file_(file), order_(order), label_(std::move(label)), compressed_(place.compressed), file_left_(place.bytes) {
  file_.seek(place.offset);
  if (!compressed_) {
    size_ = place.bytes;
    return;
  }
  buffer_.resize(chunk);
  if (inflateInit(&z_) != Z_OK) throw std::bad_alloc();
  try {
    std::array<unsigned char, 8> tag;
    read(tag.data(), tag.size());
    if (u32(tag.data()) != kMiMatrix) damaged("a matrix", "an element of type " + std::to_string(u32(tag.data())));
    size_ = u32(tag.data() + 4);
    if (size_ > kMaxExpansion * place.bytes + kExpansionSlack)
      damaged("at most " + std::to_string(kMaxExpansion) + " times its " + std::to_string(place.bytes) +
                  " compressed bytes",
              std::to_string(size_) + " declared");
  } catch (...) {
    inflateEnd(&z_);
    throw;
  }
}

ElementStream::~ElementStream() {
  if (compressed_) inflateEnd(&z_);
}

std::uint32_t ElementStream::u32(const unsigned char* bytes) const {
  std::uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return order_ == std::endian::native ? value : __builtin_bswap32(value);
}

void ElementStream::damaged(std::string expected, std::string found) const {
  refuse(file_.name(), label_, std::move(expected), std::move(found));
}

std::size_t ElementStream::inflate_some(void* destination, std::size_t bytes) {
  z_.next_out = static_cast<unsigned char*>(destination);
  z_.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, 1u << 30));
  const uInt wanted = z_.avail_out;
  while (z_.avail_out == wanted && !ended_) {
    if (z_.avail_in == 0) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), file_left_));
      if (count == 0) damaged("a complete zlib stream", "its end missing");
      file_.read(buffer_.data(), count, label_);
      file_left_ -= count;
      z_.next_in = buffer_.data();
      z_.avail_in = static_cast<uInt>(count);
    }
    const int status = inflate(&z_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    ended_ = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_BUF_ERROR && !ended_)
      damaged("a valid zlib stream", z_.msg != nullptr ? z_.msg : "damage");
  }
  return wanted - z_.avail_out;
}

void ElementStream::read(void* destination, std::size_t bytes) {
  if (!compressed_) {
    file_.read(destination, bytes, label_);
    return;
  }
  auto* out = static_cast<unsigned char*>(destination);
  while (bytes > 0) {
    const std::size_t got = inflate_some(out, bytes);
    if (got == 0) damaged("more data", "the end of the compressed stream");
    out += got;
    bytes -= got;
  }
}

void ElementStream::skip(std::uint64_t bytes) {
  if (!compressed_) {
    file_.seek(file_.position() + bytes);
    return;
  }
  std::array<unsigned char, 4096> ignored;
  while (bytes > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, ignored.size()));
    read(ignored.data(), count);
    bytes -= count;
  }
}

void ElementStream::finish() {
  if (!compressed_) return;
  unsigned char extra;
  if (!ended_ && inflate_some(&extra, 1) != 0)  // zlib compares the checksum when it reaches the end
    damaged("the end of the compressed stream", "more data");
}

void MatrixBody::leave() {
  if (small_) {
    small_ = false;
  } else {
    const std::uint64_t rest = payload_left_ + padding_;
    stream_.skip(rest);
    left_ -= rest;
  }
  payload_left_ = padding_ = 0;
}

void MatrixBody::next() {
  leave();
  std::array<unsigned char, 8> tag;
  if (left_ < tag.size()) stream_.damaged("a further subelement", std::to_string(left_) + " bytes left");
  stream_.read(tag.data(), tag.size());
  left_ -= tag.size();
  type_ = stream_.u32(tag.data());
  small_ = type_ >> 16 != 0;
  if (small_) {
    bytes_ = type_ >> 16;
    type_ &= 0xffff;
    if (bytes_ > inline_.size()) stream_.damaged("at most 4 bytes in a small element", std::to_string(bytes_));
    std::copy(tag.begin() + 4, tag.end(), inline_.begin());
  } else {
    bytes_ = stream_.u32(tag.data() + 4);
    if (bytes_ > left_)
      stream_.damaged("at most " + std::to_string(left_) + " bytes in a subelement", std::to_string(bytes_));
    padding_ = std::min<std::uint64_t>((8 - bytes_ % 8) % 8, left_ - bytes_);
  }
  payload_left_ = bytes_;
}

void MatrixBody::read(void* destination, std::size_t count) {
  if (count > payload_left_)
    stream_.damaged(std::to_string(count) + " bytes in a subelement", std::to_string(payload_left_));
  if (small_) {
    std::memcpy(destination, inline_.data() + (bytes_ - payload_left_), count);
  } else {
    stream_.read(destination, count);
    left_ -= count;
  }
  payload_left_ -= count;
}

MatrixBody MatrixBody::enter() {
  if (small_ || type_ != kMiMatrix) stream_.damaged("a matrix", "an element of type " + std::to_string(type_));
  left_ -= payload_left_;
  return MatrixBody(stream_, std::exchange(payload_left_, 0));
}

void MatrixBody::finish() {
  leave();
  stream_.skip(left_);
  left_ = 0;
}

namespace {

constexpr std::size_t kPeekChunk = 512;        // enough to inflate array flags, dimensions and name
constexpr std::size_t kReadChunk = 256 << 10;  // of the file, and of values that must be converted
constexpr std::size_t kMaxDimensions = 32, kMaxNameBytes = 1024;

struct ArrayHeader {
  std::uint32_t mx_class = 0;
  bool complex = false, logical = false;
  std::vector<std::uint64_t> dims;
  std::string name;

  std::uint64_t count() const {
    std::uint64_t product = 1;
    for (const auto d : dims) product *= d;  // read_header has checked it
    return product;
  }
};

std::string kind_of(const ArrayHeader& header) {
  static constexpr std::array<const char*, 18> kNames{"unknown", "cell",   "struct", "object", "char",     "sparse",
                                                      "double",  "single", "int8",   "uint8",  "int16",    "uint16",
                                                      "int32",   "uint32", "int64",  "uint64", "function", "opaque"};
  if (header.logical && header.mx_class >= kMxDouble && header.mx_class <= kMxUint64) return "logical";
  return header.mx_class < kNames.size() ? kNames[header.mx_class] : kNames[0];
}

std::optional<ElementType> numeric_type(std::uint32_t type) {
  switch (type) {
    case kMiInt8: return ElementType::i8;
    case kMiUint8: return ElementType::u8;
    case kMiInt16: return ElementType::i16;
    case kMiUint16: return ElementType::u16;
    case kMiInt32: return ElementType::i32;
    case kMiUint32: return ElementType::u32;
    case kMiSingle: return ElementType::f32;
    case kMiDouble: return ElementType::f64;
    case kMiInt64: return ElementType::i64;
    case kMiUint64: return ElementType::u64;
    default: return std::nullopt;
  }
}

std::optional<CharCode> char_code(std::uint32_t type) {
  switch (type) {
    case kMiInt8:
    case kMiUint8: return CharCode::latin1;
    case kMiUtf8: return CharCode::utf8;
    case kMiUint16:
    case kMiUtf16: return CharCode::utf16;
    case kMiUint32:
    case kMiUtf32: return CharCode::utf32;
    default: return std::nullopt;
  }
}

std::string read_name(MatrixBody& body) {
  auto& stream = body.stream();
  body.next();
  if (body.type() != kMiInt8 && body.type() != kMiUint8 && body.type() != kMiUtf8)
    stream.damaged("a name", "an element of type " + std::to_string(body.type()));
  if (body.bytes() > kMaxNameBytes)
    stream.damaged("a name of at most " + std::to_string(kMaxNameBytes) + " bytes", std::to_string(body.bytes()));
  std::vector<unsigned char> bytes(body.bytes());
  body.read(bytes.data(), bytes.size());
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  if (std::any_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    stream.damaged("a printable name", "control characters");
  const auto code = body.type() == kMiUtf8 ? CharCode::utf8 : CharCode::latin1;
  const auto text = decode_chars(code, std::endian::native, bytes);
  if (!text) stream.damaged("a name in UTF-8", "other bytes");
  return *to_utf8(*text);
}

// Array flags, dimensions and name; the data follow.
ArrayHeader read_header(MatrixBody& body) {
  auto& stream = body.stream();
  ArrayHeader header;
  body.next();
  std::array<unsigned char, 8> flags;
  if (body.type() != kMiUint32 || body.bytes() != flags.size())
    stream.damaged("8 bytes of array flags",
                   std::to_string(body.bytes()) + " bytes of type " + std::to_string(body.type()));
  body.read(flags.data(), flags.size());
  const std::uint32_t bits = stream.u32(flags.data());
  header.mx_class = bits & 0xff;
  header.complex = (bits & kFlagComplex) != 0;
  header.logical = (bits & kFlagLogical) != 0;
  if (header.mx_class == kMxOpaque) {  // has a name but no dimensions
    header.dims = {0, 0};
    header.name = read_name(body);
    return header;
  }

  body.next();
  const std::uint64_t rank = body.bytes() / 4;
  if ((body.type() != kMiInt32 && body.type() != kMiUint32) || body.bytes() % 4 != 0 || rank < 2 ||
      rank > kMaxDimensions)
    stream.damaged("2 to 32 dimensions",
                   std::to_string(body.bytes()) + " bytes of type " + std::to_string(body.type()));
  std::optional<std::uint64_t> product = 1;
  for (std::uint64_t i = 0; i < rank; ++i) {
    std::array<unsigned char, 4> raw;
    body.read(raw.data(), raw.size());
    const std::uint32_t d = stream.u32(raw.data());
    if (d > 0x7fffffffu) stream.damaged("dimensions of at least 0", std::to_string(static_cast<std::int32_t>(d)));
    header.dims.push_back(d);
    product = checked_mul(*product, d);
    if (!product) stream.damaged("fewer values", shape_text(header.dims) + " and more");
  }
  header.name = read_name(body);
  return header;
}

std::string at_byte(std::uint64_t offset) { return "element at byte " + std::to_string(offset); }

class MatV5Reader final : public MatFile {
 public:
  explicit MatV5Reader(const std::filesystem::path& path) : MatFile(path.string()), file_(path) {
    std::array<unsigned char, kHeaderBytes> header;
    file_.read(header.data(), header.size(), "header");
    order_ = header[126] == 'I' ? std::endian::little : std::endian::big;
    std::uint64_t offset = kHeaderBytes;
    while (offset < file_.size()) offset = list_element(offset);
  }

  const std::vector<MatVariable>& variables() const override { return variables_; }

  Matrix<float> read_columns(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place) override {
    return read_numeric<float>(variable, progress, place);
  }
  Matrix<double> read_columns_double(std::string_view variable) override {
    return read_numeric<double>(variable, nullptr, {});
  }
  std::vector<std::string> read_strings(std::string_view variable) override;

 private:
  // Adds the element at `offset` to the directory; returns where the next one starts.
  std::uint64_t list_element(std::uint64_t offset) {
    const std::string label = at_byte(offset);
    std::array<unsigned char, 8> tag;
    file_.seek(offset);
    file_.read(tag.data(), tag.size(), label);
    std::array<std::uint32_t, 2> words;
    std::memcpy(words.data(), tag.data(), tag.size());
    if (order_ != std::endian::native)
      for (auto& w : words) w = __builtin_bswap32(w);
    const auto [type, bytes] = words;
    const ElementPlace place{offset + tag.size(), bytes, type == kMiCompressed};
    if (type != kMiMatrix && type != kMiCompressed)
      refuse(name_, label, "an array", "an element of type " + std::to_string(type));
    if (bytes > file_.size() - place.offset)
      refuse(name_, label, std::to_string(bytes) + " bytes",
             "the end of the file after " + std::to_string(file_.size() - place.offset));

    ElementStream stream(file_, place, order_, kPeekChunk, label);
    MatrixBody body(stream, stream.size());
    const ArrayHeader header = read_header(body);
    if (!header.name.empty()) {  // MATLAB's own workspace of function handles has no name
      const std::uint64_t rows = header.dims[0];
      std::uint64_t cols = 1;
      for (std::size_t i = 1; i < header.dims.size(); ++i) cols *= header.dims[i];
      variables_.push_back({header.name, kind_of(header), rows, cols});
      places_.push_back(place);
    }
    return place.offset + bytes;
  }

  const ElementPlace& place_of(std::string_view variable) const {
    const MatVariable* found = find(variable);
    if (found == nullptr) refuse(name_, variable, "a variable of this name", "none", "check the file and the name");
    return places_[static_cast<std::size_t>(found - variables_.data())];
  }

  template <class T>
  Matrix<T> read_numeric(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place);
  std::vector<std::string> read_chars(MatrixBody& body, const ArrayHeader& header, std::uint64_t& budget) const;

  InputFile file_;
  std::endian order_ = std::endian::little;
  std::vector<MatVariable> variables_;
  std::vector<ElementPlace> places_;  // of variables_
};

template <class T>
Matrix<T> MatV5Reader::read_numeric(std::string_view variable, ProgressObserver* progress, const MatrixPlace& place) {
  ElementStream stream(file_, place_of(variable), order_, kReadChunk, std::string(variable));
  MatrixBody body(stream, stream.size());
  const ArrayHeader header = read_header(body);
  const std::string kind = kind_of(header);
  if (!is_numeric_kind(kind)) refuse(name_, variable, "a numeric array", kind, kind_advice(kind));
  if (header.complex) refuse(name_, variable, "real values", "complex values", "save real(x) or abs(x) instead");
  if (header.dims.size() != 2)
    refuse(name_, variable, "a matrix of 2 dimensions", shape_text(header.dims), "reshape it before saving");

  const std::uint64_t count = header.count();
  if (count == 0) return Matrix<T>(header.dims[1], header.dims[0]);
  body.next();
  const auto type = numeric_type(body.type());
  if (!type) stream.damaged("numeric data", "an element of type " + std::to_string(body.type()));
  const std::size_t width = element_size(*type);
  if (body.bytes() % width != 0 || body.bytes() / width != count)
    stream.damaged(shape_text(header.dims) + " values of " + std::string(element_name(*type)),
                   std::to_string(body.bytes()) + " bytes");

  Matrix<T> out = result_matrix<T>(header.dims[1], header.dims[0], place, name_);
  UsedRows filled(out);
  const auto advance = [&](std::uint64_t done, std::uint64_t n) { filled.add(done / out.cols(), n / out.cols() + 1); };
  ByteProgress told(progress, "load " + std::string(variable), count * sizeof(T));
  constexpr ElementType kSame = std::is_same_v<T, float> ? ElementType::f32 : ElementType::f64;
  if (*type == kSame && order_ == std::endian::native) {
    constexpr std::uint64_t kStep = (1 << 20) / sizeof(T);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t n = std::min(kStep, count - done);
      body.read(out.data() + done, n * sizeof(T));
      advance(done, n);
      done += n;
      told.advance(n * sizeof(T));
    }
  } else {
    const std::uint64_t step = kReadChunk / width;
    std::vector<unsigned char> raw(std::min(step, count) * width);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t n = std::min(step, count - done);
      body.read(raw.data(), n * width);
      if constexpr (std::is_same_v<T, float>) {
        convert_to_float(*type, order_, raw.data(), n, out.data() + done);
      } else {
        convert_to_double(*type, order_, raw.data(), n, out.data() + done);
      }
      advance(done, n);
      done += n;
      told.advance(n * sizeof(T));
    }
  }
  body.finish();
  stream.finish();
  told.finish();
  return out;
}

// The rows of a char array whose header has been read. Takes its bytes from `budget`.
std::vector<std::string> MatV5Reader::read_chars(MatrixBody& body, const ArrayHeader& header,
                                                 std::uint64_t& budget) const {
  const std::uint64_t rows = header.dims[0], cols = header.dims[1];
  auto& stream = body.stream();
  if (header.dims.size() != 2) stream.damaged("text of 2 dimensions", shape_text(header.dims));
  if (rows > kMaxStrings) stream.damaged("at most " + std::to_string(kMaxStrings) + " strings", std::to_string(rows));
  if (header.count() == 0) return *char_rows({}, rows, cols);
  body.next();
  const auto code = char_code(body.type());
  if (!code) stream.damaged("characters", "an element of type " + std::to_string(body.type()));
  if (body.bytes() > std::min(kMaxCharBytes, budget))
    stream.damaged("less text", std::to_string(body.bytes()) + " bytes in one array");
  budget -= body.bytes();
  std::vector<unsigned char> bytes(body.bytes());
  body.read(bytes.data(), bytes.size());
  auto elements = decode_chars(*code, order_, bytes);
  if (elements && rows > 1 && elements->size() != header.count()) elements = to_utf16(*elements);
  auto out = elements ? char_rows(*elements, rows, cols) : std::nullopt;
  if (!out)
    stream.damaged(shape_text(header.dims) + " valid characters", std::to_string(bytes.size()) + " other bytes");
  return std::move(*out);
}

std::vector<std::string> MatV5Reader::read_strings(std::string_view variable) {
  ElementStream stream(file_, place_of(variable), order_, kReadChunk, std::string(variable));
  MatrixBody body(stream, stream.size());
  const ArrayHeader header = read_header(body);
  const std::string kind = kind_of(header);
  std::uint64_t budget = kMaxTextBytes;
  std::vector<std::string> out;
  if (kind == "char") {
    out = read_chars(body, header, budget);
  } else if (kind == "cell") {
    const std::uint64_t count = header.count();
    if (count > std::min(kMaxStrings, body.left() / 8))
      stream.damaged("cells that fit into the file", shape_text(header.dims));
    for (std::uint64_t i = 0; i < count; ++i) {
      body.next();
      MatrixBody cell = body.enter();
      if (body.bytes() == 0) {  // a cell that nothing was put in
        out.emplace_back();
        continue;
      }
      const ArrayHeader inner = read_header(cell);
      const std::string where = std::string(variable) + "{" + std::to_string(i + 1) + "}";
      stream.set_label(where);
      const bool text = kind_of(inner) == "char";
      if (!text && inner.count() != 0)
        refuse(name_, where, "text", kind_of(inner), "make it a cell array of char vectors");
      auto rows = text ? read_chars(cell, inner, budget) : std::vector<std::string>{};
      if (rows.size() > 1) refuse(name_, where, "one line of text", shape_text(inner.dims), "make it a row vector");
      out.push_back(rows.empty() ? std::string() : std::move(rows[0]));
      cell.finish();
    }
    stream.set_label(std::string(variable));
  } else {
    refuse(name_, variable, "a cell array of char vectors", kind, "check the variable's name, or save cellstr(x)");
  }
  body.finish();
  stream.finish();
  return out;
}

}  // namespace

std::unique_ptr<MatFile> open_v5(const std::filesystem::path& path) { return std::make_unique<MatV5Reader>(path); }

}  // namespace parsnets::mat
