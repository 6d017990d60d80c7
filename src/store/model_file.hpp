#pragma once
// Model files whose bytes were named before.

#include <filesystem>
#include <string>

#include "parsnets/model.hpp"

namespace parsnets {

/// load_model() of a file whose bytes have this SHA-256, 64 hexadecimal digits; "": any. They are read once: what was
/// hashed is what becomes the model, and nothing of other bytes is parsed.
Model load_model(const std::filesystem::path& file, const std::string& sha256);

}  // namespace parsnets
