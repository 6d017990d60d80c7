#include "data/feature_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/json_file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

// In the order of the values.
constexpr std::array kPresets{"torchvision", "caffe", "tf"};
constexpr std::array kFits{"centre", "whole"};
constexpr std::array kPools{"average", "both"};
constexpr std::size_t kMostPixels = 8192;  // of a side of the input

}  // namespace

const char* name_of(PixelPreset preset) { return kPresets[static_cast<std::size_t>(preset)]; }
const char* name_of(ImageFit fit) { return kFits[static_cast<std::size_t>(fit)]; }
const char* name_of(FeatureSource::Pooling pool) { return kPools[static_cast<std::size_t>(pool)]; }

nlohmann::ordered_json to_json(const FeatureSource& source) {
  nlohmann::ordered_json json{{"backbone", source.backbone},
                              {"sha256", source.sha256},
                              {"layer", source.layer},
                              {"pool", name_of(source.pool)},
                              {"preset", name_of(source.input.preset)},
                              {"fit", name_of(source.input.fit)},
                              {"width", source.input.width},
                              {"height", source.input.height},
                              {"dimensions", source.dimensions}};
  if (!source.file.empty()) json["file"] = source.file;
  if (!source.photographs.empty()) json["photographs"] = source.photographs;
  return json;
}

FeatureSource feature_source_from_json(const nlohmann::json& json, const std::string& file, const std::string& at) {
  const auto fail = [&](const std::string& key, const std::string& expected, const std::string& found) {
    throw Error(BadInput{file, at.empty() || key.empty() ? at + key : at + "." + key, expected, found,
                         "the file is damaged: get it again, or extract the features again"});
  };
  if (!json.is_object()) fail("", "an object", json.type_name());
  const auto value_of = [&](const char* key) -> const nlohmann::json& {
    const auto found = json.find(key);
    if (found == json.end()) fail(key, "a value", "none");
    return *found;
  };
  const auto text = [&](const char* key) {
    const auto& value = value_of(key);
    if (!value.is_string()) fail(key, "text", value.type_name());
    return value.get<std::string>();
  };
  const auto number = [&](const char* key, std::size_t most) {
    const auto& value = value_of(key);
    if (!value.is_number_unsigned() || value.get<std::size_t>() < 1 || value.get<std::size_t>() > most)
      fail(key, fmt::format("a whole number from 1 to {}", most), value.dump());
    return value.get<std::size_t>();
  };
  const auto choice = [&](const char* key, std::span<const char* const> names) {
    const std::string found = text(key);
    const auto place = std::ranges::find(names, found);
    if (place == names.end()) fail(key, fmt::format("{}", fmt::join(names, " or ")), "'" + found + "'");
    return place - names.begin();
  };
  FeatureSource source;
  source.backbone = text("backbone");
  source.sha256 = text("sha256");
  if (source.sha256.size() != 64 || source.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    fail("sha256", "64 hexadecimal digits", "'" + source.sha256.substr(0, 80) + "'");
  source.layer = text("layer");
  if (json.contains("pool")) source.pool = static_cast<FeatureSource::Pooling>(choice("pool", kPools));
  source.input.preset = static_cast<PixelPreset>(choice("preset", kPresets));
  source.input.fit = static_cast<ImageFit>(choice("fit", kFits));
  source.input.width = number("width", kMostPixels);
  source.input.height = number("height", kMostPixels);
  source.dimensions = number("dimensions", 100'000'000);
  if (json.contains("file")) source.file = text("file");
  if (json.contains("photographs")) source.photographs = text("photographs");
  return source;
}

std::optional<FeatureSource> read_feature_source(const std::filesystem::path& features_file) {
  const auto file = features_file.parent_path() / kExtractionFile;
  std::error_code absent;
  if (!std::filesystem::exists(file, absent)) return std::nullopt;
  return feature_source_from_json(read_json_file(file), file.string());
}

std::string describe(const FeatureSource& source) {
  return fmt::format("{} (sha256 {}), layer {}, {} x {} {} {}{}", source.backbone, source.sha256.substr(0, 12),
                     source.layer, source.input.width, source.input.height, name_of(source.input.preset),
                     name_of(source.input.fit),
                     source.pool == FeatureSource::Pooling::both ? ", average and maximum" : "");
}

void require_same_source(const std::optional<FeatureSource>& trained, const std::optional<FeatureSource>& found,
                         const std::string& file) {
  if (!trained || !found || trained->makes_features_of(*found)) return;
  throw Error(BadInput{file, "features", "features of the backbone of training, " + describe(*trained),
                       describe(*found), "extract the features with the backbone and the settings of training"});
}

}  // namespace parsnets
