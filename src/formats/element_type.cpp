#include "formats/element_type.hpp"

#include <algorithm>
#include <array>
#include <cstring>

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

template <class From, class To>
void convert(const void* source, std::size_t count, std::endian order, To* destination) {
  const auto* bytes = static_cast<const unsigned char*>(source);
  const bool swap = order != std::endian::native;
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    if (swap) {
      std::array<unsigned char, sizeof(From)> reversed{};
      std::reverse_copy(bytes + i * sizeof(From), bytes + (i + 1) * sizeof(From), reversed.begin());
      std::memcpy(&value, reversed.data(), sizeof value);
    } else {
      std::memcpy(&value, bytes + i * sizeof(From), sizeof value);
    }
    destination[i] = static_cast<To>(value);
  }
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
