#pragma once
// safetensors: an 8-byte little-endian header length, a JSON header, then the tensors back to back.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace parsnets {

struct TensorView {
  std::string name;
  std::string dtype;  ///< "F32", "U8", "I8", "F16", …
  std::vector<std::uint64_t> shape;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// A file, read into memory, whose header has been checked in full: known types, sizes that match shapes, offsets that
/// cover the payload without gap or overlap. Throws bad_input for anything else, and before that for bytes of another
/// SHA-256, unless it is "".
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path, const std::string& sha256 = {});

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<TensorView>& tensors() const { return tensors_; }
  const TensorView* find(const std::string& name) const;
  std::span<const std::byte> payload() const { return payload_; }
  /// Keeps the bytes alive for as long as anyone holds it.
  std::shared_ptr<MappedFile> mapping() const { return mapping_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<MappedFile> mapping_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t> index_;  // of tensors_, by name
  std::span<const std::byte> payload_;
};

/// The length and the header of a file with these tensors, in the given order; the payload starts at a multiple of 64
/// bytes.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<TensorView>& tensors);

/// Writes atomically.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<TensorView>& tensors);

/// CRC-32 of a payload as the metadata of model files has it: 8 hexadecimal digits.
std::string payload_checksum(std::span<const std::byte> payload);
std::string payload_checksum(const std::vector<TensorView>& tensors);

}  // namespace parsnets
