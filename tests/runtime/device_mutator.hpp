#pragma once
// Random device files for the fuzzer: valid ones of many kinds, and mutations of them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "device/device_file_builder.hpp"

namespace parsnets::test {

struct Seed {
  std::string name;
  DeviceKind kind;
  DeviceFileParts parts;
  Bytes bytes;
  std::vector<std::size_t> floats;  ///< where f32 values and row scales are; one section of them after the other
  std::vector<std::size_t> starts;  ///< the indices in `floats` where a section begins, and their number
};

inline Seed make_seed(const std::string& name, const DeviceKind& kind, std::uint64_t number) {
  const auto parts = make_device_file(kind, number);
  const auto file = assemble(parts);
  Seed seed{name, kind, parts, file.bytes, {}, {0}};
  for (std::size_t i = 0; i < parts.sections.size(); ++i) {
    const auto& part = parts.sections[i];
    if (part.type != PNRT_F32 && part.type != PNRT_I8) continue;
    const bool plain = part.type == PNRT_F32;
    const auto from = plain ? file.offset[i] : file.scale_offset[i];
    const auto count = (plain ? part.contents : part.scales).size() / 4;
    for (std::size_t j = 0; j < count; ++j) seed.floats.push_back(from + 4 * j);
    seed.starts.push_back(seed.floats.size());
  }
  return seed;
}

/// A valid kind with sizes of its own.
inline DeviceKind random_kind(Rng& rng) {
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(rng.below(high - low + 1));
  };
  const auto one_in = [&](std::uint64_t n) { return rng.below(n) == 0; };
  std::string words = one_in(2) ? "int8" : std::array{"f32", "f16", "int8", "mixed"}[rng.below(4)];
  const auto put = [&](const char* field, auto value) { words += fmt::format(" {} {}", field, value); };
  const auto flag = [&](const char* word, bool set) { words += set ? std::string(" ") + word : ""; };
  const std::uint32_t features = pick(1, one_in(4) ? 80 : 20), encoding = one_in(2) ? pick(1, 36) : 0,
                      attributes = pick(1, 20), gates = pick(0, 2), gated = encoding > 0 ? encoding : features;
  const bool whitening = one_in(3), class_space = one_in(3), rejection = class_space && one_in(2);
  std::uint32_t networks = gates == 2 ? pick(1, 5) : 1;
  if (gates == 1)
    while (gated % (networks = pick(1, std::min(gated, 6u))) != 0) {
    }
  put("features", features);
  put("encoding", encoding);
  put("attributes", attributes);
  if (whitening) put("semantics", pick(1, 20));
  put("gates", gates);
  put("networks", networks);
  put("open", pick(1, networks));
  put("basis", pick(1, networks));
  put("classes", pick(1, 6));
  if (!class_space) put("similarity", pick(0, 2));
  put("feature_scaling", pick(0, 2));
  put("semantic_scaling", pick(0, 2));
  put("sees_encoding", pick(0, 1));
  put("relu", pick(0, 1));
  if (class_space) {
    put("example_prior", rng.uniform() * 10 + 0.01);
    put("strength", rng.uniform() * 30 + 0.01);
    put("sharpness", rng.uniform() * 60 + 0.01);
    put("certainty", rng.uniform() * 0.9);
    put("gamma_shift", rng.uniform() - 0.5);
    put("least_length", rng.uniform() * 0.1);
    put("outputs", pick(1, 20));
    put("support", pick(1, 5));
    if (one_in(2)) put("width", 0);
  }
  if (attributes > 1 && one_in(3)) put("tables", 2);
  flag("whitening", whitening);
  flag("optional", one_in(2));
  flag("attribute_names", one_in(2));
  flag("rejection", rejection);
  flag("span", rejection && one_in(2));
  flag("source", one_in(3));
  return {"random", words};
}

/// Mutation `index` of a seed that follows from it; most have a right size and checksum, to reach the checks behind.
class Mutator {
 public:
  Mutator(const std::vector<Seed>& seeds, std::uint64_t index) : seeds_(seeds), rng_(2024, index) {
    seed_ = &seeds_[rng_.below(seeds_.size())];
    file = seed_->bytes;
    origin = "mutation " + std::to_string(index) + " of '" + seed_->name + "':";
    std::uint64_t steps = 1 + rng_.below(rng_.below(3) == 0 ? 4 : 1);
    if (rng_.below(8) == 0) {
      change_section();
      steps = rng_.below(2);
    }
    for (; steps > 0; --steps) step();
    if (rng_.below(5) != 0) {
      mend(file);
      origin += " mended";
    }
  }

  Bytes file;
  std::string origin;

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(rng_.below(bound)); }

  /// Where `size` bytes can be changed; every third time within the header.
  std::size_t place(std::size_t size, std::size_t align = 1) {
    const std::size_t limit = below(3) == 0 ? std::min<std::size_t>(file.size(), PNRT_HEADER_BYTES) : file.size();
    return below((limit - size) / align + 1) * align;
  }

  /// A section less, more, or of another type, in a file that is laid out as if that were right.
  void change_section() {
    auto parts = seed_->parts;
    const auto number = below(parts.sections.size());
    auto& part = parts.sections[number];
    const auto& h = seed_->parts.header;
    const std::size_t sizes[] = {
        h.features,  h.attributes,          h.outputs, h.encoding, h.networks * h.basis, h.classes,
        h.semantics, h.outputs * h.outputs, 28,        34};
    const auto count = part.type != 0 && part.type != 4 ? part.values.size() : sizes[below(std::size(sizes))];
    part.type = static_cast<std::uint8_t>(part.type != 0 && below(2) == 0 ? 0 : 1 + below(4));
    part.scales.assign(part.type == 3 ? 4 * part.rows : 0, std::byte{0});
    part.contents.assign(count * (part.type == 1 ? 4 : part.type == 2 ? 2 : 1), std::byte{0});
    file = assemble(parts).bytes;
    note(("type " + std::to_string(part.type) + " for section").c_str(), number);
  }

  std::uint32_t interesting() {
    static constexpr std::uint32_t values[] = {
        0,          1,          2,          3,          4,          5,          16,         17,         127,
        128,        255,        256,        32767,      32768,      65535,      65536,      65537,      0x7fffffff,
        0x80000000, 0xffffffff, 0xfffffff0, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
        0x7f800001, 0x00000001, 0x80000001, 0x00800000, 0x3f800000, 0xbf800000, 0x49742400, 0x49742401, 0xc9742400,
        0xc9742401, 0x3089705f, 0x3089705e, 0x4e6e6b28, 0x4e6e6b29, 0x461c4000, 0x461c4001, 0x3f7fffff, 0x3a83126f,
        0x3a83126e, 0x7c007c00, 0xfc007bff, 0x60ad78ec, 0x7149f2ca};
    return values[below(std::size(values))];
  }

  void note(const char* what, std::size_t at) { origin += ' ' + std::string(what) + '@' + std::to_string(at); }

  void step() {
    if (file.size() < PNRT_HEADER_BYTES) file.resize(PNRT_HEADER_BYTES);
    std::size_t at = 0;
    switch (below(12)) {
      case 0:
        at = place(1);
        file[at] = static_cast<std::byte>(rng_.next());
        return note("byte", at);
      case 1:
        at = place(1);
        file[at] ^= static_cast<std::byte>(1u << below(8));
        return note("bit", at);
      case 2:
        at = below(4) == 0 ? PNRT_SIZES_AT + 4 * below(PNRT_SIZE_COUNT) : place(4, 4);
        put_u32(file, at, interesting());
        return note("u32", at);
      case 3: {  // some of a section's values become extreme, but stay right
        static constexpr float extreme[] = {3.4e38f, 1e30f, 1e19f, 1e9f, 1, 0, 1e-9f, 1e-30f, 1e-40f};
        const auto section = below(seed_->starts.size() - 1);
        const auto from = seed_->starts[section], count = seed_->starts[section + 1] - from;
        const float value = extreme[below(std::size(extreme))];
        const auto all = below(2);
        for (std::size_t i = all ? 0 : below(count); i < count; i += all ? 1 : count)
          if (at = seed_->floats[from + i]; at + 4 <= file.size())
            put_u32(file, at, std::bit_cast<std::uint32_t>(value));
        return note("extreme", seed_->floats[from]);
      }
      case 4: {
        at = place(2, 2);
        const auto value = interesting();
        for (std::size_t i = 0; i < 2; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
        return note("u16", at);
      }
      case 5: {  // a count a little too large or small
        at = PNRT_SIZES_AT + 4 * below(PNRT_SIZE_COUNT);
        std::uint32_t value = 0;
        std::memcpy(&value, &file[at], 4);
        put_u32(file, at, value + static_cast<std::uint32_t>(below(7)) - 3);
        return note("count", at);
      }
      case 6:  // choices, bits and types with values that may be right
        at = PNRT_CHOICES_AT + below(PNRT_TYPES_AT - PNRT_CHOICES_AT + PNRT_SECTION_COUNT);
        file[at] = static_cast<std::byte>(below(5));
        return note("choice", at);
      case 7: {
        if (below(2) == 0) {  // neighbours near the end, where the names are
          at = file.size() - 2 - below(96);
          std::swap(file[at], file[at + 1]);
          return note("neighbours", at);
        }
        const auto size = 1 + below(32), a = place(size), b = place(size);
        if (a + size <= b || b + size <= a) std::swap_ranges(&file[a], &file[a] + size, &file[b]);
        return note("swap", a);
      }
      case 8: {  // a block of another seed
        const Bytes& other = seeds_[below(seeds_.size())].bytes;
        const auto size = 1 + below(64), from = below(other.size() - size + 1), to = place(size);
        std::copy_n(&other[from], size, &file[to]);
        return note("block", to);
      }
      case 9: {  // the head of this file and the rest of another seed
        const Bytes& other = seeds_[below(seeds_.size())].bytes;
        at = below(std::min(file.size(), other.size()));
        file.resize(at);
        file.insert(file.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
        return note("splice", at);
      }
      case 10:
        at = below(2) == 0 ? below(file.size() + 64) : (file.size() / 16 + below(5) - 2) * 16;
        file.resize(at);
        return note("resize", at);
      default: {  // 16 bytes more or less in the middle
        at = PNRT_HEADER_BYTES + 16 * below((file.size() - PNRT_HEADER_BYTES) / 16 + 1);
        const auto middle = file.begin() + static_cast<std::ptrdiff_t>(at);
        note("shift", at);
        if (below(2) == 0 && file.end() - middle >= 16)
          file.erase(middle, middle + 16);
        else
          file.insert(middle, 16, std::byte{0});
      }
    }
  }

  const std::vector<Seed>& seeds_;
  const Seed* seed_ = nullptr;
  Rng rng_;
};

}  // namespace parsnets::test
