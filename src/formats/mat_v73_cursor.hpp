#pragma once
// Little-endian numbers from a piece of HDF5 metadata, every step checked. Internal to mat_v73_check.cpp.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "formats/mat_v73_check.hpp"

namespace parsnets::mat {

/// `n` rounded up to whole words of 8 bytes.
inline std::uint64_t round_up(std::uint64_t n) { return (n + 7) / 8 * 8; }

/// Throws through `check` where the bytes end too soon. Does not own them.
class Hdf5Check::Cursor {
 public:
  Cursor(const Hdf5Check& check, const unsigned char* data, std::uint64_t count)
      : check_(&check), at_(data), left_(count) {}

  std::uint64_t number(unsigned width) {
    need(width);
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;) value = value << 8 | at_[i];
    skip(width);
    return value;
  }
  unsigned u8() { return static_cast<unsigned>(number(1)); }
  unsigned u16() { return static_cast<unsigned>(number(2)); }
  std::uint64_t u32() { return number(4); }
  std::uint64_t u64() { return number(8); }
  void skip(std::uint64_t count) {
    need(count);
    at_ += count;
    left_ -= count;
  }
  Cursor part(std::uint64_t count) {
    need(count);
    Cursor out(*check_, at_, count);
    skip(count);
    return out;
  }
  // Past a NUL-terminated text, which is padded to 8 bytes if told.
  void text(bool padded) {
    const void* end = left_ == 0 ? nullptr : std::memchr(at_, 0, left_);
    if (end == nullptr) check_->damaged("null-terminated text", "no terminator");
    const auto length = static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - at_) + 1;
    skip(padded ? round_up(length) : length);
  }
  void expect(std::string_view signature) {
    need(signature.size());
    if (std::memcmp(at_, signature.data(), signature.size()) != 0)
      check_->damaged("'" + std::string(signature) + "'", "other bytes");
    skip(signature.size());
  }
  bool starts_with(std::string_view signature) const {
    return left_ >= signature.size() && std::memcmp(at_, signature.data(), signature.size()) == 0;
  }
  std::uint64_t left() const { return left_; }
  unsigned char at(std::uint64_t i) const { return at_[i]; }

 private:
  void need(std::uint64_t count) const {
    if (count > left_) check_->damaged(std::to_string(count) + " more bytes", std::to_string(left_));
  }

  const Hdf5Check* check_;
  const unsigned char* at_;
  std::uint64_t left_;
};

}  // namespace parsnets::mat
