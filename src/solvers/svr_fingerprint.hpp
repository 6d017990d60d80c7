#pragma once
// A number that tells problems, and damaged files, apart.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "parsnets/matrix.hpp"

namespace parsnets {

// FNV-1a on words of eight bytes: fast enough for hundreds of megabytes.
class Fingerprint {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (; bytes >= 8; bytes -= 8, p += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, 8);
      mix(word);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, p, bytes);
    mix(word ^ (static_cast<std::uint64_t>(bytes) << 56));
  }
  template <class T>
  void value(T v) {
    static_assert(std::is_arithmetic_v<T>);
    add(&v, sizeof v);
  }
  template <class T>
  void matrix(MatrixView<const T> m) {
    value(static_cast<std::uint64_t>(m.rows()));
    value(static_cast<std::uint64_t>(m.cols()));
    if (!m.empty()) add(m.data(), m.size() * sizeof(T));
  }
  std::uint64_t get() const { return hash_; }

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001b3u;
    hash_ ^= hash_ >> 29;
  }
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace parsnets
