#pragma once
// SHA-256 (FIPS 180-4) of a file, to tell the versions of a public file apart.

#include <filesystem>
#include <string>

namespace parsnets {

/// 64 hexadecimal digits. Throws bad_input as InputFile.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace parsnets
