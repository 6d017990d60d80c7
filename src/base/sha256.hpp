#pragma once
// SHA-256 (FIPS 180-4), to tell versions of a file apart.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace parsnets {

/// 64 hexadecimal digits.
std::string sha256_of(std::span<const std::byte> bytes);
/// Of the bytes of a file. Throws bad_input as InputFile.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace parsnets
