#pragma once
// FeatureSource as JSON: extraction.json beside features that were extracted from photographs, and the records of
// models.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "parsnets/feature_source.hpp"

namespace parsnets {

/// Beside the features of a folder.
inline constexpr const char* kExtractionFile = "extraction.json";
/// In a folder whose extraction is not finished.
inline constexpr const char* kPartialExtractionFile = "extraction.partial";

const char* name_of(PixelPreset preset);
const char* name_of(ImageFit fit);
const char* name_of(FeatureSource::Pooling pool);

nlohmann::ordered_json to_json(const FeatureSource& source);
/// Throws bad_input naming `file` and the key below `at`.
FeatureSource feature_source_from_json(const nlohmann::json& json, const std::string& file, const std::string& at = "");

/// Of extraction.json in the folder of a features file; none without such a file. Throws bad_input for a damaged one.
std::optional<FeatureSource> read_feature_source(const std::filesystem::path& features_file);

/// "resnet50.onnx (sha256 0123456789ab), layer features, 224 x 224 caffe centre": for messages.
std::string describe(const FeatureSource& source);

/// Throws bad_input naming `file` when both are known and their features are not comparable.
void require_same_source(const std::optional<FeatureSource>& trained, const std::optional<FeatureSource>& found,
                         const std::string& file);

}  // namespace parsnets
