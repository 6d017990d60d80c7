// Writer of v5 MAT files, on zlib: values go to the file as they are compressed, nothing is held.

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked.hpp"
#include "formats/mat_common.hpp"
#include "formats/mat_v5.hpp"
#include "parsnets/error.hpp"

namespace parsnets::mat {

namespace {

constexpr std::size_t kBufferBytes = 256 << 10;
constexpr int kLevel = 3;  // higher ones cost much time and gain little on floating-point values

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Bytes go to the file through a buffer, deflated between begin() and end() if asked for.
class Sink {
 public:
  Sink(AtomicFile& file, bool compressed) : file_(file), compressed_(compressed), buffer_(kBufferBytes) {}
  ~Sink() {
    if (open_) deflateEnd(&z_);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void begin() {
    if (!compressed_) return;
    tag_offset_ = file_.position();
    const std::array<std::uint32_t, 2> tag{kMiCompressed, 0};  // end() fills in the size
    file_.write(tag.data(), sizeof tag);
    if (deflateInit(&z_, kLevel) != Z_OK) throw std::bad_alloc();
    open_ = true;
  }

  void put(const void* data, std::size_t bytes) {
    if (compressed_) {
      pump(data, bytes, Z_NO_FLUSH);
    } else if (bytes >= buffer_.size()) {
      flush();
      file_.write(data, bytes);
    } else {
      if (bytes > buffer_.size() - used_) flush();
      if (bytes > 0) std::memcpy(buffer_.data() + used_, data, bytes);
      used_ += bytes;
    }
  }

  void end() {
    if (!compressed_) return flush();
    pump(nullptr, 0, Z_FINISH);
    deflateEnd(&z_);
    open_ = false;
    const std::uint64_t bytes = file_.position() - tag_offset_ - 8;
    if (bytes > std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorCode::failure, "a compressed v5 MAT array cannot exceed 4 GB: write version 7.3");
    const auto size = static_cast<std::uint32_t>(bytes);
    file_.write_at(tag_offset_ + 4, &size, sizeof size);
  }

 private:
  void flush() {
    file_.write(buffer_.data(), used_);
    used_ = 0;
  }

  void pump(const void* data, std::size_t bytes, int mode) {
    const auto* in = static_cast<const unsigned char*>(data);
    do {
      const std::size_t piece = std::min<std::size_t>(bytes, 1u << 30);
      z_.next_in = const_cast<unsigned char*>(in);
      z_.avail_in = static_cast<uInt>(piece);
      do {
        z_.next_out = buffer_.data();
        z_.avail_out = static_cast<uInt>(buffer_.size());
        deflate(&z_, mode);
        file_.write(buffer_.data(), buffer_.size() - z_.avail_out);
      } while (z_.avail_out == 0);
      in = in == nullptr ? in : in + piece;
      bytes -= piece;
    } while (bytes > 0);
  }

  AtomicFile& file_;
  bool compressed_, open_ = false;
  std::vector<unsigned char> buffer_;
  std::size_t used_ = 0;
  std::uint64_t tag_offset_ = 0;
  z_stream z_{};
};

class MatV5Writer final : public MatWriter {
 public:
  MatV5Writer(const std::filesystem::path& path, bool compressed) : file_(path), sink_(file_, compressed) {
    std::array<char, kHeaderBytes> header{};
    std::fill_n(header.begin(), kHeaderTextBytes, ' ');
    constexpr std::string_view kText = "MATLAB 5.0 MAT-file, written by parsnets";
    std::copy(kText.begin(), kText.end(), header.begin());
    // In the machine's byte order: readers tell it by the second number.
    constexpr std::uint16_t kVersion = 0x0100, kMark = ('M' << 8) | 'I';
    std::memcpy(header.data() + 124, &kVersion, sizeof kVersion);
    std::memcpy(header.data() + 126, &kMark, sizeof kMark);
    file_.write(header.data(), header.size());
  }

  void write_blocks(std::string_view name, const RowBlocks<float>& values, ProgressObserver* progress) override {
    write_numeric(name, values, kMxSingle, kMiSingle, progress);
  }
  void write_columns(std::string_view name, MatrixView<const double> values) override {
    write_numeric(name, blocks_of(values), kMxDouble, kMiDouble, nullptr);
  }

  void write_strings(std::string_view name, const std::vector<std::string>& values) override {
    std::uint64_t content = 0;
    std::vector<std::uint64_t> lengths;  // in characters, found before anything is written
    for (const auto& text : values) {
      lengths.push_back(require_utf8(name, text).size());
      content += 8 + header_bytes("") + 8 + padded(text.size());
    }
    begin(name, kMxCell, values.size(), 1, content);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& text = values[i];
      tag(kMiMatrix, header_bytes("") + 8 + padded(text.size()));
      put_header("", kMxChar, text.empty() ? 0 : 1, lengths[i]);
      tag(kMiUtf8, text.size());
      sink_.put(text.data(), text.size());
      pad(text.size());
    }
    end();
  }

  void commit() override {
    require_sound();
    file_.commit();
  }

 private:
  template <class T>
  void write_numeric(std::string_view name, const RowBlocks<T>& values, std::uint32_t mx_class, std::uint32_t type,
                     ProgressObserver* progress) {
    const std::uint64_t bytes = checked_mul(values.size(), sizeof(T)).value_or(~0ull / 2);
    begin(name, mx_class, values.cols, values.rows, 8 + padded(bytes));
    tag(type, bytes);
    ByteProgress told(progress, "save " + std::string(name), bytes);
    constexpr std::uint64_t kStep = 1 << 20;
    for_each_block(values, [&](std::size_t, MatrixView<const T> block) {
      const auto* raw = reinterpret_cast<const unsigned char*>(block.data());
      const std::uint64_t all = block.size() * sizeof(T);
      for (std::uint64_t done = 0; done < all;) {
        const std::uint64_t n = std::min(kStep, all - done);
        sink_.put(raw + done, n);
        done += n;
        told.advance(n);
      }
    });
    pad(bytes);
    end();
    told.finish();
  }

  static std::uint64_t header_bytes(std::string_view name) { return 16 + 16 + 8 + padded(name.size()); }

  void begin(std::string_view name, std::uint32_t mx_class, std::uint64_t rows, std::uint64_t cols,
             std::uint64_t content) {
    const std::uint64_t total = header_bytes(name) + content;
    if (total > std::numeric_limits<std::uint32_t>::max() || std::max(rows, cols) > 0x7fffffffu)
      throw Error(ErrorCode::usage, "the MATLAB variable '" + std::string(name) + "' needs " + std::to_string(total) +
                                        " bytes, but an array in a v5 file is limited to 4 GB and 2147483647 rows or "
                                        "columns: write version 7.3 instead");
    require_sound();
    claim_name(name, names_);
    broken_ = true;
    sink_.begin();
    tag(kMiMatrix, total);
    put_header(name, mx_class, rows, cols);
  }

  void put_header(std::string_view name, std::uint32_t mx_class, std::uint64_t rows, std::uint64_t cols) {
    const std::array<std::uint32_t, 2> flags{mx_class, 0};
    const std::array<std::uint32_t, 2> dims{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols)};
    tag(kMiUint32, sizeof flags);
    sink_.put(flags.data(), sizeof flags);
    tag(kMiInt32, sizeof dims);
    sink_.put(dims.data(), sizeof dims);
    tag(kMiInt8, name.size());
    sink_.put(name.data(), name.size());
    pad(name.size());
  }

  void require_sound() const {
    if (broken_) throw Error(ErrorCode::usage, "writing a variable to this MAT file failed: create the file again");
  }

  void end() {
    sink_.end();
    broken_ = false;
  }

  void tag(std::uint32_t type, std::uint64_t bytes) {
    const std::array<std::uint32_t, 2> words{type, static_cast<std::uint32_t>(bytes)};
    sink_.put(words.data(), sizeof words);
  }

  void pad(std::uint64_t bytes) {
    static constexpr std::array<char, 8> kZeros{};
    sink_.put(kZeros.data(), padded(bytes) - bytes);
  }

  AtomicFile file_;
  Sink sink_;
  std::vector<std::string> names_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<MatWriter> create_v5(const std::filesystem::path& path, bool compressed) {
  return std::make_unique<MatV5Writer>(path, compressed);
}

}  // namespace parsnets::mat
