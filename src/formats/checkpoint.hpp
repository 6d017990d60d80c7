#pragma once
// Work in progress on disk: a safetensors file with the state's arrays, whose metadata say whose state it is and have
// a checksum. All checkpoints of training have this form.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "formats/safetensors.hpp"
#include "parsnets/matrix.hpp"

namespace parsnets {

/// A number that tells problems apart: FNV-1a on words of eight bytes, fast enough for hundreds of megabytes.
class Fingerprint {
 public:
  void add(const void* data, std::size_t bytes);
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

/// An array of a checkpoint.
TensorView checkpoint_part(const char* name, MatrixView<const float> values);

/// Writes atomically. `fingerprint` says whose state it is, `state` is text that the reader gets back.
void write_checkpoint(const std::filesystem::path& path, const std::string& fingerprint, const std::string& state,
                      const std::vector<TensorView>& parts);

/// A checkpoint that was read and checked. Throws bad_input, here and when a part is not as expected, for a file that
/// is damaged, none, or that of other work.
class Checkpoint {
 public:
  Checkpoint(const std::filesystem::path& path, const std::string& fingerprint);

  const std::string& state() const { return state_; }
  /// Of the shape that it was written with.
  Matrix<float> matrix(const char* name) const;
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

 private:
  SafetensorsFile file_;
  std::string state_;
};

}  // namespace parsnets
