#pragma once
// Mutations of the corpora without a fuzzer: mutation i of a target is the same in every run.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "formats/safetensors.hpp"

namespace parsnets::fuzz {

constexpr std::string_view kSum = "\"payload_crc32\":\"";

/// Where the payload of a safetensors file begins; the end of the file where it has none.
inline std::size_t payload_of(const std::string& file) {
  std::uint64_t header = 0;
  if (file.size() < 8) return file.size();
  std::memcpy(&header, file.data(), 8);
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(file.size(), header > file.size() ? file.size() : 8 + header));
}

/// Gives a model or statistics file the checksum of its payload, so that it is not refused for that.
inline void mend_sum(std::string& file) {
  const std::size_t begin = payload_of(file), sum = file.find(kSum);
  if (sum == std::string::npos || sum + kSum.size() + 8 > begin) return;
  const auto payload = std::as_bytes(std::span(file)).subspan(begin);
  file.replace(sum + kSum.size(), 8, payload_checksum(payload));
}

class Mutator {
 public:
  /// `seeds`: files of one target, at least one; `tokens`: what its readers look for.
  Mutator(const std::vector<std::string>& seeds, const std::vector<std::string>& tokens)
      : seeds_(seeds), tokens_(tokens) {}

  std::string file(std::uint64_t number) const {
    Rng rng(17, number);
    std::string file = seeds_[rng.below(seeds_.size())];
    for (std::uint64_t left = 1 + rng.below(6); left > 0; --left) change(file, rng);
    if (file.size() > kLargest) file.resize(kLargest);
    if (rng.below(8) > 0) mend_sum(file);
    return file;
  }

 private:
  static constexpr std::size_t kLargest = 65536;

  void change(std::string& file, Rng& rng) const {
    static constexpr std::array<std::uint32_t, 12> kFloats{0x7fc00000, 0x7f800000, 0xff800000, 1,
                                                           0x7f7fffff, 0xff7fffff, 0x00800000, 0,
                                                           0x80000000, 0x3f800000, 0x5f000000, 0xffffffff};
    static constexpr std::array<unsigned char, 8> kBytes{0, 1, 0x7f, 0x80, 0xff, '"', ',', '\n'};
    const std::size_t size = file.size(), at = size == 0 ? 0 : rng.below(size);
    const std::size_t length = std::min<std::size_t>(1 + rng.below(rng.below(4) == 0 ? 200 : 8), size - at);
    switch (rng.below(9)) {
      case 0:
        if (size > 0) file[at] = static_cast<char>(file[at] ^ 1 << rng.below(8));
        break;
      case 1:
        if (size > 0) file[at] = static_cast<char>(kBytes[rng.below(kBytes.size())]);
        break;
      case 2: file.erase(at, length); break;
      case 3: file.insert(at, file.substr(at, length)); break;
      case 4: file.insert(at, tokens_[rng.below(tokens_.size())]); break;
      case 5: {
        const std::string& other = seeds_[rng.below(seeds_.size())];
        const std::size_t from = rng.below(other.size());
        file.replace(at, length, other, from, 1 + rng.below(64));
        break;
      }
      case 6:
        if (rng.below(4) == 0) file.resize(at);
        break;
      default: {  // a value of a payload
        const std::size_t begin = payload_of(file) < size ? payload_of(file) : 0;
        if (size < begin + 4) break;
        const std::size_t place = begin + rng.below((size - begin) / 4) * 4;
        const std::uint32_t value = kFloats[rng.below(kFloats.size())];
        std::memcpy(file.data() + place, &value, 4);
      }
    }
  }

  const std::vector<std::string>&seeds_, &tokens_;
};

}  // namespace parsnets::fuzz
