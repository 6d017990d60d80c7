#pragma once
// Numeric element types that data files use, and their conversion to the types the library works with.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace parsnets {

enum class ElementType { f16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 };

std::size_t element_size(ElementType type);
std::string_view element_name(ElementType type);  ///< "float16", "uint8", …
bool is_integer(ElementType type);

/// Converts `count` raw values (of byte order `order`) at `source` to float32 / float64.
void convert_to_float(ElementType type, std::endian order, const void* source, std::size_t count, float* destination);
void convert_to_double(ElementType type, std::endian order, const void* source, std::size_t count, double* destination);

}  // namespace parsnets
