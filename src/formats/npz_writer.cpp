// Writes .npz archives. The zip container is written by hand with zlib's deflate: libzip writes everything at close,
// from sources that have to live until then, while this streams each array once and keeps nothing. Layout as numpy's:
// a zip64 field in every local header, so that a member of any size fits; timestamps are fixed at 1980-01-01.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/file.hpp"
#include "formats/npy_format.hpp"
#include "formats/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kLimit32 = 0xffffffff, kLimit16 = 0xffff;
constexpr std::uint16_t kVersionZip64 = 45, kUnix = 3 << 8, kUtf8Name = 0x800, kStored = 0, kDeflated = 8;
constexpr std::uint16_t kMidnight = 0, kFirstOf1980 = 0x21;

// Little-endian fields of a zip record.
class Record {
 public:
  Record& u16(std::uint64_t v) { return number(v, 2); }
  Record& u32(std::uint64_t v) { return number(v, 4); }
  Record& u64(std::uint64_t v) { return number(v, 8); }
  Record& text(std::string_view v) {
    bytes_ += v;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& number(std::uint64_t v, int width) {
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(v >> (8 * i) & 0xff);
    return *this;
  }
  std::string bytes_;
};

struct Entry {
  std::string name;
  std::uint64_t offset = 0, packed = 0, size = 0;
  std::uint32_t crc = 0;
};

std::uint16_t flags_of(const Entry& entry) {
  const bool ascii = std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return (c & 0x80) == 0; });
  return ascii ? 0 : kUtf8Name;
}

std::string local_header(const Entry& entry, bool compressed) {
  return Record()
      .u32(0x04034b50)
      .u16(kVersionZip64)
      .u16(flags_of(entry))
      .u16(compressed ? kDeflated : kStored)
      .u16(kMidnight)
      .u16(kFirstOf1980)
      .u32(entry.crc)
      .u32(kLimit32)
      .u32(kLimit32)
      .u16(entry.name.size())
      .u16(20)
      .text(entry.name)
      .u16(1)
      .u16(16)
      .u64(entry.size)
      .u64(entry.packed)
      .bytes();
}

std::string directory_entry(const Entry& entry, bool compressed) {
  Record wide;  // the values that do not fit their 32 bits
  const auto narrow = [&](std::uint64_t v) {
    if (v < kLimit32) return v;
    wide.u64(v);
    return kLimit32;
  };
  const std::uint64_t size = narrow(entry.size), packed = narrow(entry.packed), offset = narrow(entry.offset);
  Record extra;
  if (!wide.bytes().empty()) extra.u16(1).u16(wide.bytes().size()).text(wide.bytes());
  return Record()
      .u32(0x02014b50)
      .u16(kUnix | kVersionZip64)
      .u16(kVersionZip64)
      .u16(flags_of(entry))
      .u16(compressed ? kDeflated : kStored)
      .u16(kMidnight)
      .u16(kFirstOf1980)
      .u32(entry.crc)
      .u32(packed)
      .u32(size)
      .u16(entry.name.size())
      .u16(extra.bytes().size())
      .u16(0)
      .u16(0)
      .u16(0)
      .u32(0100644u << 16)
      .u32(offset)
      .text(entry.name)
      .text(extra.bytes())
      .bytes();
}

std::string directory_end(std::uint64_t entries, std::uint64_t start, std::uint64_t size) {
  Record end;
  if (entries >= kLimit16 || start >= kLimit32 || size >= kLimit32) {
    end.u32(0x06064b50).u64(44).u16(kUnix | kVersionZip64).u16(kVersionZip64).u32(0).u32(0);
    end.u64(entries).u64(entries).u64(size).u64(start);
    end.u32(0x07064b50).u32(0).u64(start + size).u32(1);
  }
  end.u32(0x06054b50).u16(0).u16(0).u16(std::min(entries, kLimit16)).u16(std::min(entries, kLimit16));
  end.u32(std::min(size, kLimit32)).u32(std::min(start, kLimit32)).u16(0);
  return end.bytes();
}

// One deflate stream, its output written as it comes.
class Deflater {
 public:
  explicit Deflater(AtomicFile& out) : out_(out) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void put(const void* data, std::size_t bytes) {
    constexpr std::size_t kMost = 1u << 30;  // zlib counts in 32 bits
    auto* in = static_cast<Bytef*>(const_cast<void*>(data));
    for (std::size_t done = 0; done < bytes; done += kMost) run(in + done, std::min(bytes - done, kMost), Z_NO_FLUSH);
  }
  void finish() { run(nullptr, 0, Z_FINISH); }

 private:
  void run(Bytef* data, std::size_t bytes, int flush) {
    stream_.next_in = data;
    stream_.avail_in = static_cast<uInt>(bytes);
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      out_.write(buffer_.data(), buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  AtomicFile& out_;
  z_stream stream_{};
  std::array<Bytef, 1 << 16> buffer_{};
};

}  // namespace

struct NpzWriter::State {
  AtomicFile out;
  bool compressed, committed = false;
  std::vector<Entry> entries;
  std::set<std::string> names;

  State(const std::filesystem::path& file, bool deflated) : out(file), compressed(deflated) {}

  using Put = std::function<void(const void*, std::size_t)>;

  // `produce` hands over the values piece by piece.
  void add(const std::string& member, const std::string& header, const std::function<void(const Put&)>& produce) {
    if (committed)
      throw Error(ErrorCode::usage, "npz member " + in_quotes(member) + ": the archive has already been written");
    const bool plain = member.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (member.empty() || member.size() > 1000 || !plain || !is_utf8(member))
      throw Error(ErrorCode::usage,
                  "npz member " + in_quotes(member) + ": expected a short UTF-8 name without slashes");
    if (!names.insert(member).second)
      throw Error(ErrorCode::usage,
                  "npz member " + in_quotes(member) + ": the archive already has a member of this name");
    Entry entry;
    entry.name = member + ".npy";
    entry.offset = out.position();
    out.write(local_header(entry, compressed));
    const std::uint64_t start = out.position();
    {
      const auto deflater = compressed ? std::make_unique<Deflater>(out) : nullptr;
      const Put put = [&](const void* data, std::size_t bytes) {
        entry.crc = static_cast<std::uint32_t>(crc32_z(entry.crc, static_cast<const Bytef*>(data), bytes));
        entry.size += bytes;
        if (deflater)
          deflater->put(data, bytes);
        else
          out.write(data, bytes);
      };
      put(header.data(), header.size());
      produce(put);
      if (deflater) deflater->finish();
    }
    entry.packed = out.position() - start;
    const std::string final_header = local_header(entry, compressed);
    out.write_at(entry.offset, final_header.data(), final_header.size());
    entries.push_back(std::move(entry));
  }
};

NpzWriter::NpzWriter(const std::filesystem::path& file, bool compressed)
    : state_(std::make_unique<State>(file, compressed)) {}

NpzWriter::~NpzWriter() = default;

void NpzWriter::add(const std::string& member, const RowBlocks<float>& values, bool half) {
  const auto descr = fmt::format("{}f{}", kNativeOrder, half ? 2 : 4);
  state_->add(member, npy_header_text(descr, {values.rows, values.cols}),
              [&](const State::Put& put) { encode_values(values, half, put); });
}

void NpzWriter::add(const std::string& member, const std::vector<std::int32_t>& values) {
  state_->add(member, npy_header_text(fmt::format("{}i4", kNativeOrder), {values.size()}),
              [&](const State::Put& put) { put(values.data(), values.size() * sizeof(std::int32_t)); });
}

void NpzWriter::add(const std::string& member, const std::vector<std::string>& values) {
  std::size_t width = 1;
  const auto decode = [&](const std::string& text) {
    std::u32string points;
    for (std::size_t i = 0; i < text.size();) {
      const auto point = next_code_point(text, i);
      if (!point || *point == 0)
        throw Error(ErrorCode::usage, fmt::format("npz member {}: expected UTF-8 text without NUL, found {}",
                                                  in_quotes(member), in_quotes(text)));
      points.push_back(static_cast<char32_t>(*point));
    }
    return points;
  };
  for (const auto& text : values) width = std::max(width, decode(text).size());
  state_->add(member, npy_header_text(fmt::format("{}U{}", kNativeOrder, width), {values.size()}),
              [&](const State::Put& put) {
                for (const auto& text : values) {
                  std::u32string points = decode(text);
                  points.resize(width, U'\0');
                  put(points.data(), points.size() * sizeof(char32_t));
                }
              });
}

void NpzWriter::commit() {
  State& state = *state_;
  if (state.committed) throw Error(ErrorCode::usage, "npz archive: commit() was called twice");
  const std::uint64_t start = state.out.position();
  for (const auto& entry : state.entries) state.out.write(directory_entry(entry, state.compressed));
  state.out.write(directory_end(state.entries.size(), start, state.out.position() - start));
  state.out.commit();
  state.committed = true;
}

}  // namespace parsnets
