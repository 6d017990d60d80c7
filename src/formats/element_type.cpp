#include "formats/element_type.hpp"

#include <array>
#include <cstring>
#include <type_traits>

#include "base/half.hpp"

namespace parsnets {

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::i8:
    case ElementType::u8: return 1;
    case ElementType::f16:
    case ElementType::i16:
    case ElementType::u16: return 2;
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::u32: return 4;
    default: return 8;
  }
}

std::string_view element_name(ElementType type) {
  static constexpr std::array<std::string_view, 11> names{"float16", "float32", "float64", "int8",  "uint8", "int16",
                                                          "uint16",  "int32",   "uint32",  "int64", "uint64"};
  return names[static_cast<std::size_t>(type)];
}

bool is_integer(ElementType type) {
  return type != ElementType::f16 && type != ElementType::f32 && type != ElementType::f64;
}

namespace {

struct Half {
  std::uint16_t bits;
  explicit operator float() const { return half_to_float(bits); }
  explicit operator double() const { return static_cast<double>(half_to_float(bits)); }
};

std::uint8_t swapped(std::uint8_t bits) { return bits; }
std::uint16_t swapped(std::uint16_t bits) { return __builtin_bswap16(bits); }
std::uint32_t swapped(std::uint32_t bits) { return __builtin_bswap32(bits); }
std::uint64_t swapped(std::uint64_t bits) { return __builtin_bswap64(bits); }

template <std::size_t bytes>
using Bits = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

template <bool swap, class From, class To>
void convert_all(const void* source, std::size_t count, To* destination) {
  const auto* bytes = static_cast<const unsigned char*>(source);
  for (std::size_t i = 0; i < count; ++i) {
    Bits<sizeof(From)> bits;
    std::memcpy(&bits, bytes + i * sizeof(From), sizeof bits);
    if constexpr (swap) bits = swapped(bits);
    destination[i] = static_cast<To>(std::bit_cast<From>(bits));
  }
}

template <class From, class To>
void convert(const void* source, std::size_t count, std::endian order, To* destination) {
  if (order == std::endian::native)
    convert_all<false, From>(source, count, destination);
  else
    convert_all<true, From>(source, count, destination);
}

template <class To>
void dispatch(ElementType type, std::endian order, const void* source, std::size_t count, To* destination) {
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

}  // namespace

void convert_to_float(ElementType type, std::endian order, const void* source, std::size_t count, float* destination) {
  dispatch(type, order, source, count, destination);
}

void convert_to_double(ElementType type, std::endian order, const void* source, std::size_t count,
                       double* destination) {
  dispatch(type, order, source, count, destination);
}

}  // namespace parsnets
