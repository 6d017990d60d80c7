// The bytes of v5 elements, on zlib. Not libmatio: it allocates what a header declares and holds an inflated element
// whole, and its doubles beside it; here the bytes go straight to where they are wanted.

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "formats/mat_common.hpp"
#include "formats/mat_v5.hpp"

namespace parsnets::mat {

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

}  // namespace parsnets::mat
