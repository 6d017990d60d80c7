#pragma once
// A set of samples in a form that a model can keep: which they are, and a checksum of what they are.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// One bit per sample, in hexadecimal: bit s % 4 of digit s / 4.
std::string samples_to_hex(std::span<const std::int32_t> samples);
/// The samples, ascending; none when the text is not of that form.
std::vector<std::int32_t> samples_from_hex(std::string_view hex);

/// CRC-32, as 8 hexadecimal digits, of the features of these samples; of 256 of them, evenly spread, when there are
/// more. `samples` ascending.
std::string features_checksum(const Matrix<float>& features, std::span<const std::int32_t> samples);

}  // namespace parsnets
