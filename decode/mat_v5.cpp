// Reader of v5 MAT files ("MAT-File Level 5", plain and compressed, both byte orders), on zlib. Not libmatio: it
// holds an inflated element whole, and its doubles beside it; here features larger than memory are streamed.

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.hpp"
#include "mat_reader.hpp"

namespace parsnets::mat {

namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kPeekChunk = 512;        // enough to inflate array flags, dimensions and name
constexpr std::size_t kReadChunk = 256 << 10;  // of the file
constexpr std::size_t kMaxDimensions = 32, kMaxNameBytes = 1024;

// Types of data elements.
constexpr std::uint32_t kMiInt8 = 1, kMiUint8 = 2, kMiUint16 = 4, kMiInt32 = 5, kMiUint32 = 6, kMiMatrix = 14,
                        kMiCompressed = 15, kMiUtf8 = 16, kMiUtf16 = 17, kMiUtf32 = 18;
// Classes of arrays.
constexpr std::uint32_t kMxDouble = 6, kMxUint64 = 15, kMxOpaque = 17;
constexpr std::uint32_t kFlagComplex = 0x0800, kFlagLogical = 0x0200;

std::optional<ElementType> numeric_type(std::uint32_t type) {
  using enum ElementType;
  constexpr std::nullopt_t none = std::nullopt;
  static constexpr std::array<std::optional<ElementType>, 14> kTypes{none, i8,   u8,  i16,  u16,  i32, u32,
                                                                     f32,  none, f64, none, none, i64, u64};
  return type < kTypes.size() ? kTypes[type] : std::nullopt;
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

std::string of_type(std::uint32_t type) { return "an element of type " + std::to_string(type); }

/// Where a top-level element lies in the file: its payload, behind the tag.
struct ElementPlace {
  std::uint64_t offset = 0, bytes = 0;
  bool compressed = false;
};

/// The content of one top-level miMATRIX, front to back, inflated where it is compressed.
class ElementStream {
 public:
  /// `chunk` bytes of the file are read at a time. `label` names the element in messages.
  ElementStream(decode::Input& file, const ElementPlace& place, std::endian order, std::size_t chunk, std::string label)
      : file_(file), order_(order), label_(std::move(label)), size_(place.bytes), file_left_(place.bytes) {
    file_.seek(place.offset);
    if (!place.compressed) return;
    buffer_.resize(chunk);
    z_.reset(new z_stream{});
    if (inflateInit(z_.get()) != Z_OK) throw std::bad_alloc();
    std::array<unsigned char, 8> tag;
    read(tag.data(), tag.size());
    if (u32(tag.data()) != kMiMatrix) damaged("a matrix", of_type(u32(tag.data())));
    size_ = u32(tag.data() + 4);
    if (size_ > kMaxExpansion * place.bytes + kExpansionSlack)
      damaged("at most " + std::to_string(kMaxExpansion) + " times its " + std::to_string(place.bytes) +
                  " compressed bytes",
              std::to_string(size_) + " declared");
  }

  /// Bytes of the miMATRIX as it declares them, checked against what the file can hold.
  std::uint64_t size() const { return size_; }

  void read(void* destination, std::size_t bytes) {
    if (!z_) return file_.read(destination, bytes, label_);
    for (auto* out = static_cast<unsigned char*>(destination); bytes > 0;) {
      const std::size_t got = inflate_some(out, bytes);
      if (got == 0) damaged("more data", "the end of the compressed stream");
      out += got;
      bytes -= got;
    }
  }

  void skip(std::uint64_t bytes) {
    if (!z_) return file_.seek(file_.position() + bytes);
    std::array<unsigned char, 4096> ignored;
    for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, ignored.size()))
      read(ignored.data(), std::min<std::uint64_t>(bytes, ignored.size()));
  }

  /// Checks that a compressed stream ends here with the right checksum.
  void finish() {
    unsigned char extra;
    if (z_ && !ended_ && inflate_some(&extra, 1) != 0)  // zlib compares the checksum when it reaches the end
      damaged("the end of the compressed stream", "more data");
  }

  std::endian order() const { return order_; }
  std::uint32_t u32(const unsigned char* bytes) const {
    std::uint32_t value;
    std::memcpy(&value, bytes, sizeof value);
    return order_ == std::endian::native ? value : __builtin_bswap32(value);
  }
  void set_label(std::string label) { label_ = std::move(label); }
  [[noreturn]] void damaged(std::string expected, std::string found) const {
    refuse(label_, std::move(expected), std::move(found));
  }

 private:
  struct EndInflate {
    void operator()(z_stream* z) const {
      inflateEnd(z);
      delete z;
    }
  };

  std::size_t inflate_some(void* destination, std::size_t bytes) {
    z_->next_out = static_cast<unsigned char*>(destination);
    z_->avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, 1u << 30));
    const uInt wanted = z_->avail_out;
    while (z_->avail_out == wanted && !ended_) {
      if (z_->avail_in == 0) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), file_left_));
        if (count == 0) damaged("a complete zlib stream", "its end missing");
        file_.read(buffer_.data(), count, label_);
        file_left_ -= count;
        z_->next_in = buffer_.data();
        z_->avail_in = static_cast<uInt>(count);
      }
      const int status = inflate(z_.get(), Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      ended_ = status == Z_STREAM_END;
      if (status != Z_OK && status != Z_BUF_ERROR && !ended_)
        damaged("a valid zlib stream", z_->msg != nullptr ? z_->msg : "damage");
    }
    return wanted - z_->avail_out;
  }

  decode::Input& file_;
  std::endian order_;
  std::string label_;
  bool ended_ = false;
  std::uint64_t size_, file_left_;
  std::vector<unsigned char> buffer_;
  std::unique_ptr<z_stream, EndInflate> z_;  ///< of a compressed element
};

/// The subelements of a miMATRIX, in order.
class MatrixBody {
 public:
  MatrixBody(ElementStream& stream, std::uint64_t bytes) : stream_(stream), left_(bytes) {}

  /// Goes to the next subelement (past what is left of this one); its type and bytes are then known.
  void next() {
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
  std::uint32_t type() const { return type_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Reads the next `count` bytes of the subelement.
  void read(void* destination, std::size_t count) {
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
  std::vector<unsigned char> read() {
    std::vector<unsigned char> content(bytes_);
    read(content.data(), content.size());
    return content;
  }
  /// For a subelement that is itself a miMATRIX: its body. Finish() it before going on here.
  MatrixBody enter() {
    if (small_ || type_ != kMiMatrix) stream_.damaged("a matrix", of_type(type_));
    left_ -= payload_left_;
    return MatrixBody(stream_, std::exchange(payload_left_, 0));
  }
  void finish() {
    leave();
    stream_.skip(std::exchange(left_, 0));
  }
  std::uint64_t left() const { return left_; }
  ElementStream& stream() { return stream_; }

 private:
  void leave() {
    const std::uint64_t rest = small_ ? 0 : payload_left_ + padding_;
    stream_.skip(rest);
    left_ -= rest;
    payload_left_ = padding_ = 0;
    small_ = false;
  }

  ElementStream& stream_;
  std::uint64_t left_;  ///< bytes of the body behind the subelement's tag
  std::uint32_t type_ = 0;
  std::uint64_t bytes_ = 0, payload_left_ = 0, padding_ = 0;
  bool small_ = false;
  std::array<unsigned char, 4> inline_{};
};

std::string read_name(MatrixBody& body) {
  auto& stream = body.stream();
  body.next();
  if (body.type() != kMiInt8 && body.type() != kMiUint8 && body.type() != kMiUtf8)
    stream.damaged("a name", of_type(body.type()));
  if (body.bytes() > kMaxNameBytes)
    stream.damaged("a name of at most " + std::to_string(kMaxNameBytes) + " bytes", std::to_string(body.bytes()));
  std::vector<unsigned char> bytes = body.read();
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  if (std::ranges::any_of(bytes, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    stream.damaged("a printable name", "control characters");
  const auto text = decode_chars(*char_code(body.type()), std::endian::native, bytes);
  if (!text) stream.damaged("a name in UTF-8", "other bytes");
  return *to_utf8(*text);
}

std::string kind_of(std::uint32_t mx_class, bool logical) {
  static constexpr std::array<const char*, 18> kNames{"unknown", "cell",   "struct", "object", "char",     "sparse",
                                                      "double",  "single", "int8",   "uint8",  "int16",    "uint16",
                                                      "int32",   "uint32", "int64",  "uint64", "function", "opaque"};
  if (logical && mx_class >= kMxDouble && mx_class <= kMxUint64) return "logical";
  return kNames[mx_class < kNames.size() ? mx_class : 0];
}

/// A miMATRIX. Of a top-level one it has the stream, of a cell its part of it.
class V5Array final : public Array {
 public:
  /// Nothing was put in a cell without a body.
  explicit V5Array(MatrixBody body) : body_(std::move(body)) {
    empty = body_.left() == 0;
    if (!empty) read_header();
  }
  explicit V5Array(std::unique_ptr<ElementStream> stream)
      : stream_(std::move(stream)), body_(*stream_, stream_->size()) {
    read_header();
  }

  void start() override {
    if (empty) return;
    body_.next();
    const auto found = numeric_type(body_.type());
    if (!found) body_.stream().damaged("numeric data", of_type(body_.type()));
    type = *found;
    order = body_.stream().order();
    const std::size_t width = element_size(type);
    if (body_.bytes() % width != 0 || body_.bytes() / width != count_)
      body_.stream().damaged(shape_text(shape) + " values of " + element_name(type),
                             std::to_string(body_.bytes()) + " bytes");
  }

  void read(const TakeTile& take) override {
    const auto read = [&](void* destination, std::size_t bytes) { body_.read(destination, bytes); };
    read_in_tiles(shape[1], shape[0], element_size(type), read, take);
  }

  std::vector<std::string> chars() override {
    auto& stream = body_.stream();
    if (shape.size() != 2) stream.damaged("text of 2 dimensions", shape_text(shape));
    const std::uint64_t rows = shape[0];
    if (empty) return *char_rows({}, rows, shape[1]);
    body_.next();
    const auto code = char_code(body_.type());
    if (!code) stream.damaged("characters", of_type(body_.type()));
    auto elements = decode_chars(*code, stream.order(), body_.read());
    if (elements && rows > 1 && elements->size() != count_) elements = to_utf16(*elements);
    auto out = elements ? char_rows(*elements, rows, shape[1]) : std::nullopt;
    if (!out) stream.damaged(shape_text(shape) + " valid characters", std::to_string(body_.bytes()) + " other bytes");
    return std::move(*out);
  }

  std::uint64_t cells() override {
    if (count_ > body_.left() / 8) body_.stream().damaged("cells that fit into the file", shape_text(shape));
    return count_;
  }

  std::unique_ptr<Array> cell(std::uint64_t, const std::string& label) override {
    body_.next();
    auto inner = std::make_unique<V5Array>(body_.enter());
    body_.stream().set_label(label);
    return inner;
  }

  void finish() override {
    if (stream_) stream_->set_label(name);
    body_.finish();
    if (stream_) stream_->finish();
  }

  std::string name;

 private:
  // Array flags, dimensions and name; the data follow.
  void read_header() {
    auto& stream = body_.stream();
    const auto found = [&] { return std::to_string(body_.bytes()) + " bytes of type " + std::to_string(body_.type()); };
    body_.next();
    if (body_.type() != kMiUint32 || body_.bytes() != 8) stream.damaged("8 bytes of array flags", found());
    const std::uint32_t bits = stream.u32(body_.read().data()), mx_class = bits & 0xff;
    kind = kind_of(mx_class, (bits & kFlagLogical) != 0);
    complex = (bits & kFlagComplex) != 0;
    if (mx_class == kMxOpaque) {  // has a name but no dimensions
      shape = {0, 0};
    } else {
      body_.next();
      const std::uint64_t rank = body_.bytes() / 4;
      if ((body_.type() != kMiInt32 && body_.type() != kMiUint32) || body_.bytes() % 4 != 0 || rank < 2 ||
          rank > kMaxDimensions)
        stream.damaged("2 to 32 dimensions", found());
      const auto raw = body_.read();
      for (std::uint64_t i = 0; i < rank; ++i) {
        const std::uint32_t d = stream.u32(raw.data() + 4 * i);
        if (d > 0x7fffffffu) stream.damaged("dimensions of at least 0", std::to_string(static_cast<std::int32_t>(d)));
        shape.push_back(d);
        const auto product = checked_mul(i == 0 ? 1 : count_, d);
        if (!product) stream.damaged("fewer values", shape_text(shape) + " and more");
        count_ = *product;
      }
    }
    empty = count_ == 0;
    name = read_name(body_);
  }

  std::unique_ptr<ElementStream> stream_;  ///< null of a cell
  MatrixBody body_;
  std::uint64_t count_ = 0;
};

class MatV5Reader final : public Reader {
 public:
  explicit MatV5Reader(decode::Input& file) : file_(file) {
    file_.seek(0);
    std::array<unsigned char, kHeaderBytes> header;
    file_.read(header.data(), header.size(), "header");
    order_ = header[126] == 'I' ? std::endian::little : std::endian::big;
    std::uint64_t offset = kHeaderBytes;
    while (offset < file_.size()) offset = list_element(offset);
  }

  std::unique_ptr<Array> open_array(std::size_t index) override {
    return std::make_unique<V5Array>(
        std::make_unique<ElementStream>(file_, places_[index], order_, kReadChunk, variables[index].name));
  }

 private:
  // Adds the element at `offset` to the directory; returns where the next one starts.
  std::uint64_t list_element(std::uint64_t offset) {
    const std::string label = "element at byte " + std::to_string(offset);
    std::array<std::uint32_t, 2> tag;
    file_.seek(offset);
    file_.read(tag.data(), sizeof tag, label);
    if (order_ != std::endian::native)
      for (auto& word : tag) word = __builtin_bswap32(word);
    const auto [type, bytes] = tag;
    const ElementPlace place{offset + sizeof tag, bytes, type == kMiCompressed};
    if (type != kMiMatrix && type != kMiCompressed) refuse(label, "an array", of_type(type));
    if (bytes > file_.size() - place.offset)
      refuse(label, std::to_string(bytes) + " bytes",
             "the end of the file after " + std::to_string(file_.size() - place.offset));

    const V5Array array(std::make_unique<ElementStream>(file_, place, order_, kPeekChunk, label));
    if (!array.name.empty()) {  // MATLAB's own workspace of function handles has no name
      std::uint64_t cols = 1;
      for (std::size_t i = 1; i < array.shape.size(); ++i) cols *= array.shape[i];
      variables.push_back({array.name, array.kind, array.shape[0], cols});
      places_.push_back(place);
    }
    return place.offset + bytes;
  }

  decode::Input& file_;
  std::endian order_ = std::endian::little;
  std::vector<ElementPlace> places_;  // of variables
};

}  // namespace

std::unique_ptr<Reader> open_v5(decode::Input& file) { return std::make_unique<MatV5Reader>(file); }

}  // namespace parsnets::mat
