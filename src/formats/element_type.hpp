#pragma once
// Numeric element types that data files use, and their conversion to the types the library works with.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace parsnets {

enum class ElementType { f16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64 };

/// `kind`: 'f', 'i' or 'u', as numpy names them; `size`: bytes.
std::optional<ElementType> element_type(char kind, std::uint64_t size);
std::size_t element_size(ElementType type);
std::string element_name(ElementType type);  ///< "float16", "uint8", …

/// Converts `count` raw values (of byte order `order`) at `source` to float or double.
template <class To>
void convert_values(ElementType type, std::endian order, const void* source, std::size_t count, To* destination);

}  // namespace parsnets
