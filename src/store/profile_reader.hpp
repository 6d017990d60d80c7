#pragma once
// What model files and statistics files have in common: safetensors whose metadata say the format, its version, a
// checksum and, as JSON, the facts that the tensors are read by (docs/format.md).

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json_file.hpp"
#include "base/text.hpp"
#include "formats/safetensors.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

/// Reads one file, remembering which tensors were asked for. Shapes are compared before memory is taken: metadata may
/// claim any size. Every method throws bad_input naming the file and the field.
class ProfileReader {
 public:
  /// `facts`: the metadata that have them. `what`: "a ParsNets model".
  ProfileReader(const std::filesystem::path& path, const char* format, const char* version, const char* facts,
                const char* what, const std::string& sha256 = {})
      : file_(path, sha256), facts_name_(facts), what_(what) {
    if (text("format") != format)
      fail("format", fmt::format("'{}'", format), "'" + text("format") + "'", "this is not " + what_);
    if (text("format_version") != version)
      fail("format_version", version, text("format_version"),
           "it was written by another version of ParsNets; use that one");
    if (const auto sum = payload_checksum(file_.payload()); text("payload_crc32") != sum)
      fail("payload_crc32", text("payload_crc32"), sum);
    facts_ = parse_json(text(facts), file_.name() + ", " + facts, file_.mapping()->bytes().size());
    if (!facts_.is_object()) fail(facts, "a JSON object", facts_.type_name());
  }

  static constexpr const char* kDamaged = "the file is damaged: copy or download it again";

  [[noreturn]] void fail(const std::string& field, const std::string& expected, const std::string& found,
                         const std::string& advice = kDamaged) const {
    throw Error(BadInput{file_.name(), field, expected, found, advice});
  }
  /// One of the facts is not as expected.
  [[noreturn]] void fail_fact(const char* key, const std::string& expected, const char* advice = kDamaged) const {
    fail(facts_name_ + "." + key, expected, facts_.contains(key) ? facts_.at(key).dump().substr(0, 40) : "none",
         advice);
  }

  const std::string& name() const { return file_.name(); }
  const nlohmann::json& facts() const { return facts_; }

  std::uint64_t count(const char* key, std::uint64_t low, std::uint64_t high) const {
    const auto found = facts_.find(key);
    if (found == facts_.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() < low ||
        found->get<std::uint64_t>() > high)
      fail_fact(key, fmt::format("an integer from {} to {}", low, high));
    return found->get<std::uint64_t>();
  }

  /// A list of names in the metadata.
  std::vector<std::string> names(const char* key) const {
    const auto json = parse_json(text(key), file_.name() + ", " + key, file_.mapping()->bytes().size());
    if (!json.is_array()) fail(key, "a list of names", json.type_name());
    for (const auto& item : json)
      if (!item.is_string()) fail(key, "names as strings", item.dump().substr(0, 40));
    const auto names = json.get<std::vector<std::string>>();
    require_printable(names, file_.name(), key);
    return names;
  }

  /// Metadata that must be there.
  std::string text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end())
      fail("__metadata__." + key, "a value", "none", fmt::format("this is not {}, or it is damaged", what_));
    return found->second;
  }

  /// Must be there with exactly this type and shape.
  const TensorView& tensor(const std::string& name, const char* dtype, const std::vector<std::uint64_t>& shape) {
    const TensorView* found = file_.find(name);
    const std::string expected = fmt::format("{} of shape [{}]", dtype, fmt::join(shape, ", "));
    if (found == nullptr)
      fail("tensor '" + name + "'", expected, "none", "the file is incomplete: copy or download it again");
    if (found->dtype != dtype || found->shape != shape)
      fail("tensor '" + name + "'", expected,
           fmt::format("{} of shape [{}]", found->dtype, fmt::join(found->shape, ", ")));
    taken_.insert(name);
    return *found;
  }

  /// After the last tensor was read.
  void refuse_unknown() const {
    for (const auto& t : file_.tensors())
      if (!taken_.contains(t.name))
        fail("tensor '" + t.name + "'", "a tensor that the format defines", "an unknown one",
             "it may come from a newer version of ParsNets");
  }

 protected:
  SafetensorsFile file_;
  nlohmann::json facts_;

 private:
  const std::string facts_name_, what_;
  std::set<std::string> taken_;
};

}  // namespace parsnets
