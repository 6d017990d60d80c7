#pragma once
// What a file is that was given in place of another one, by its first bytes.

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace parsnets {

/// "an ONNX file", "a PNG image"; "" for a kind that it does not know.
inline std::string_view file_kind(std::span<const std::byte> bytes) {
  using namespace std::string_view_literals;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kinds{
      {{"\x93NUMPY"sv, "an .npy array"},
       {"PK\x03\x04"sv, "an .npz or .zip file"},
       {"MATLAB"sv, "a .mat file"},
       {"\x89HDF"sv, "an HDF5 or .mat file"},
       {"\x89PNG"sv, "a PNG image"},
       {"\xFF\xD8\xFF"sv, "a JPEG image"},
       {"RIFF"sv, "a WebP image"},
       {"GIF8"sv, "a GIF image"},
       {"%PDF"sv, "a PDF file"},
       {"GGUF"sv, "a GGUF file"},
       {"\x1F\x8B"sv, "a gzip file"},
       {"\x80\x04\x95"sv, "a pickle"},
       {"PARSNETS"sv, "a device file"}}};
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [magic, kind] : kinds)
    if (start.starts_with(magic)) return kind;
  if (start.size() > 8 && start.substr(4, 4) == "TFL3") return "a TensorFlow Lite file";
  // Protocol buffers have no magic: ir_version, a small number, then the producer, its version, the domain or the
  // graph.
  if (start.size() > 3 && start[0] == 0x08 && start[1] < 0x20 &&
      "\x12\x1A\x22\x3A"sv.find(start[2]) != std::string_view::npos)
    return "an ONNX file";
  return "";
}

// How a device file begins: readers of other files recognise one by it.

constexpr std::string_view kDeviceMagic = "PARSNETS";

inline bool looks_like_device_file(std::span<const std::byte> bytes) {
  return bytes.size() >= kDeviceMagic.size() &&
         std::memcmp(bytes.data(), kDeviceMagic.data(), kDeviceMagic.size()) == 0;
}

}  // namespace parsnets
