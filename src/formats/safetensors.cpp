#include "formats/safetensors.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/integrity.hpp"
#include "base/json_file.hpp"
#include "formats/file_kind.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::uint64_t kLargestHeader = 64u << 20;
constexpr std::size_t kMostDimensions = 32;
constexpr const char* kGetTensorsAgain = "the file is damaged: copy or download it again";

std::uint64_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes{{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"U16", 2}, {"I16", 2},
                                                          {"F16", 2},  {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},
                                                          {"U64", 8},  {"I64", 8},  {"F64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

std::uint64_t read_u64(const std::byte* bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// One entry of the header, and where its data begin in the payload.
std::pair<std::uint64_t, TensorView> parse_tensor(const std::string& name, const nlohmann::json& entry,
                                                  const std::string& file) {
  const auto fail = [&](const std::string& expected, const std::string& found) {
    throw Error(BadInput{file, "tensor '" + name + "'", expected, found, kGetTensorsAgain});
  };
  const auto unsigned_list = [&](const char* key) {
    if (!entry.contains(key) || !entry.at(key).is_array()) fail(fmt::format("a list '{}'", key), "none");
    if (entry.at(key).size() > kMostDimensions)
      fail(fmt::format("at most {} numbers in '{}'", kMostDimensions, key), std::to_string(entry.at(key).size()));
    std::vector<std::uint64_t> list;
    for (const auto& item : entry.at(key)) {
      if (!item.is_number_unsigned())
        fail(fmt::format("non-negative integers in '{}'", key), item.dump().substr(0, 30));
      list.push_back(item.get<std::uint64_t>());
    }
    return list;
  };
  if (!entry.is_object() || entry.size() != 3) fail("dtype, shape and data_offsets", entry.dump().substr(0, 60));
  TensorView tensor;
  tensor.name = name;
  if (!entry.contains("dtype") || !entry.at("dtype").is_string()) fail("a dtype", "none");
  tensor.dtype = entry.at("dtype").get<std::string>();
  tensor.shape = unsigned_list("shape");
  const auto offsets = unsigned_list("data_offsets");
  std::uint64_t size = dtype_bytes(tensor.dtype);
  if (size == 0) fail("a known dtype", "'" + tensor.dtype + "'");
  for (const auto n : tensor.shape) {
    const auto product = checked_mul(size, n);
    if (!product) fail("a shape that fits in memory", "an overflow");
    size = *product;
  }
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != size)
    fail(fmt::format("data_offsets of {} bytes, as dtype and shape say", size),
         entry.at("data_offsets").dump().substr(0, 60));
  tensor.bytes = size;
  return {offsets[0], std::move(tensor)};
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const std::string& sha256)
    : name_(path.string()), mapping_(std::make_shared<MappedFile>(MappedFile::copied(path))) {
  const auto bytes = std::span<const std::byte>(mapping_->bytes());
  require_sha256(bytes, name_, sha256);
  const auto truncated = [&](const std::string& expected) {
    return Error(BadInput{name_, "header", expected, fmt::format("a file of {} bytes", bytes.size()),
                          "the file is truncated or not a model: copy or download it again"});
  };
  if (bytes.size() < 8) throw truncated("8 bytes of header length");
  const std::uint64_t header_size = read_u64(bytes.data());
  if (header_size > kLargestHeader) {
    const std::string_view kind = file_kind(bytes);
    throw Error(BadInput{name_, "", "a model or statistics file (.safetensors)",
                         kind.empty() ? "another kind of file" : std::string(kind), "this is not a ParsNets model"});
  }
  if (header_size > bytes.size() - 8) throw truncated(fmt::format("a header of {} bytes", header_size));
  const nlohmann::json header =
      parse_json({reinterpret_cast<const char*>(bytes.data()) + 8, header_size}, name_, bytes.size());
  if (!header.is_object()) throw Error(BadInput{name_, "header", "a JSON object", header.type_name(), ""});
  payload_ = bytes.subspan(8 + header_size);

  std::vector<std::pair<std::uint64_t, TensorView>> placed;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      if (!value.is_object())
        throw Error(BadInput{name_, "__metadata__", "an object of strings", value.type_name(), ""});
      for (const auto& [name, text] : value.items()) {
        if (!text.is_string()) throw Error(BadInput{name_, "__metadata__." + name, "a string", text.type_name(), ""});
        metadata_[name] = text.get<std::string>();
      }
      continue;
    }
    placed.push_back(parse_tensor(key, value, name_));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.bytes) < std::pair(b.first, b.second.bytes);
  });
  std::uint64_t expected = 0;
  for (auto& [begin, tensor] : placed) {
    if (begin != expected || begin + tensor.bytes > payload_.size())
      throw Error(BadInput{name_, "tensor '" + tensor.name + "'",
                           fmt::format("data at offset {} within {} bytes", expected, payload_.size()),
                           fmt::format("offset {}, {} bytes", begin, tensor.bytes), kGetTensorsAgain});
    tensor.data = payload_.data() + begin;
    expected = begin + tensor.bytes;
    index_.emplace(tensor.name, tensors_.size());
    tensors_.push_back(std::move(tensor));
  }
  if (expected != payload_.size())
    throw Error(BadInput{name_, "payload", fmt::format("{} bytes, as the header says", expected),
                         std::to_string(payload_.size()), kGetTensorsAgain});
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<TensorView>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes}}};
    offset += tensor.bytes;
  }
  std::string text = header.dump();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  return length + text;
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<TensorView>& tensors) {
  AtomicFile file(path);
  file.write(safetensors_header(metadata, tensors));
  for (const auto& tensor : tensors) file.write(tensor.data, tensor.bytes);
  file.commit();
}

std::string payload_checksum(std::span<const std::byte> payload) {
  return fmt::format("{:08x}", ::crc32_z(0, reinterpret_cast<const Bytef*>(payload.data()), payload.size()));
}

std::string payload_checksum(const std::vector<TensorView>& tensors) {
  uLong crc = ::crc32_z(0, nullptr, 0);
  for (const auto& tensor : tensors)
    if (tensor.bytes > 0) crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(tensor.data), tensor.bytes);
  return fmt::format("{:08x}", crc);
}

}  // namespace parsnets
