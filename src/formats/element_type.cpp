#include "formats/element_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/half.hpp"

namespace parsnets {

namespace {

constexpr std::array<std::string_view, 11> kCodes{"f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"};

struct Half {
  std::uint16_t bits;
  explicit operator float() const { return half_to_float(bits); }
  explicit operator double() const { return static_cast<double>(half_to_float(bits)); }
};

template <class From, class To>
void convert(const void* source, std::size_t count, std::endian order, To* destination) {
  const auto* bytes = static_cast<const unsigned char*>(source);
  const auto all = [&](auto swapped) {
    for (std::size_t i = 0; i < count; ++i) {
      std::array<unsigned char, sizeof(From)> value;
      std::memcpy(value.data(), bytes + i * value.size(), value.size());
      if constexpr (swapped.value) std::ranges::reverse(value);
      destination[i] = static_cast<To>(std::bit_cast<From>(value));
    }
  };
  order == std::endian::native ? all(std::false_type()) : all(std::true_type());
}

}  // namespace

std::optional<ElementType> element_type(char kind, std::uint64_t size) {
  for (std::size_t i = 0; i < kCodes.size(); ++i)
    if (const auto type = static_cast<ElementType>(i); kCodes[i][0] == kind && element_size(type) == size) return type;
  return std::nullopt;
}

std::size_t element_size(ElementType type) {
  return static_cast<std::size_t>(kCodes[static_cast<std::size_t>(type)][1] - '0');
}

std::string element_name(ElementType type) {
  const char kind = kCodes[static_cast<std::size_t>(type)][0];
  return fmt::format("{}{}", kind == 'f' ? "float" : kind == 'i' ? "int" : "uint", 8 * element_size(type));
}

template <class To>
void convert_values(ElementType type, std::endian order, const void* source, std::size_t count, To* destination) {
  switch (type) {
    case ElementType::f16: return convert<Half>(source, count, order, destination);
    case ElementType::f32: return convert<float>(source, count, order, destination);
    case ElementType::f64: return convert<double>(source, count, order, destination);
    case ElementType::i8: return convert<std::int8_t>(source, count, order, destination);
    case ElementType::u8: return convert<std::uint8_t>(source, count, order, destination);
    case ElementType::i16: return convert<std::int16_t>(source, count, order, destination);
    case ElementType::u16: return convert<std::uint16_t>(source, count, order, destination);
    case ElementType::i32: return convert<std::int32_t>(source, count, order, destination);
    case ElementType::u32: return convert<std::uint32_t>(source, count, order, destination);
    case ElementType::i64: return convert<std::int64_t>(source, count, order, destination);
    case ElementType::u64: return convert<std::uint64_t>(source, count, order, destination);
  }
}

template void convert_values(ElementType, std::endian, const void*, std::size_t, float*);
template void convert_values(ElementType, std::endian, const void*, std::size_t, double*);

}  // namespace parsnets
