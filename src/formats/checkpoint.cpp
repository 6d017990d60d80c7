#include "formats/checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>

#include "parsnets/error.hpp"

namespace parsnets {

constexpr const char *kFormat = "parsnets-checkpoint", *kChecksum = "payload_crc32";

void Fingerprint::add(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    mix(word);
  }
  std::uint64_t word = 0;
  if (bytes > 0) std::memcpy(&word, p, bytes);
  mix(word ^ (static_cast<std::uint64_t>(bytes) << 56));
}

TensorView checkpoint_part(const char* name, MatrixView<const float> values) {
  return {name,
          "F32",
          {values.rows(), values.cols()},
          reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(float)};
}

void write_checkpoint(const std::filesystem::path& path, const std::string& fingerprint, const std::string& state,
                      const std::vector<TensorView>& parts) {
  std::map<std::string, std::string> metadata{
      {"format", kFormat}, {"work", fingerprint}, {kChecksum, payload_checksum(parts)}};
  if (!state.empty()) metadata["state"] = state;
  write_safetensors(path, metadata, parts);
}

Checkpoint::Checkpoint(const std::filesystem::path& path, const std::string& fingerprint) : file_(path) {
  const auto value = [&](const char* name) {
    const auto found = file_.metadata().find(name);
    return found == file_.metadata().end() ? std::string() : found->second;
  };
  if (value("format") != kFormat) refuse("a checkpoint of training", "another file");
  if (value(kChecksum) != payload_checksum(file_.payload())) refuse("an undamaged checkpoint", "another checksum");
  if (value("work") != fingerprint)
    refuse("the state of training with the same data and options", "that of another training");
  state_ = value("state");
}

void Checkpoint::refuse(const std::string& expected, const std::string& found) const {
  throw Error(BadInput{file_.name(), "checkpoint", expected, found, "remove the file to start again"});
}

Matrix<float> Checkpoint::matrix(const char* name) const {
  const TensorView* found = file_.find(name);
  if (found == nullptr || found->dtype != "F32" || found->shape.size() != 2)
    refuse(fmt::format("a matrix '{}'", name), found == nullptr ? "none" : "other values");
  Matrix<float> values(found->shape[0], found->shape[1]);
  if (found->bytes > 0) std::memcpy(values.data(), found->data, found->bytes);
  return values;
}

}  // namespace parsnets
