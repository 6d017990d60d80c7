#pragma once
// The backbones that are known by name, and where the user's cache has them.

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "parsnets/feature_source.hpp"
#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// Made by scripts/get-backbone from a package of the npm registry, always with the same bytes.
struct KnownBackbone {
  const char *name, *network, *package;
  int features, fetched_megabytes;
  const char* sha256;  ///< of NAME.onnx
};

std::span<const KnownBackbone> known_backbones();
/// Null: not known.
const KnownBackbone* find_known_backbone(const std::string& name);

/// $XDG_CACHE_HOME/parsnets, or ~/.cache/parsnets. Throws usage when neither variable is set.
std::filesystem::path cache_folder();
/// Where its file is once it was fetched.
std::filesystem::path file_of(const KnownBackbone& backbone);
/// Whether the file is there, with its content.
bool is_there(const KnownBackbone& backbone);
/// Its file, which is fetched unless it is there. Throws failure saying what to copy where.
std::filesystem::path get_backbone(const KnownBackbone& backbone, ProgressObserver* progress);

/// `value` of --backbone: a file, or the name of a known one.
std::filesystem::path backbone_file(const std::filesystem::path& value, ProgressObserver* progress);
/// The backbone of a model: where it was in training, or in the cache. Throws bad_input where neither has it.
std::filesystem::path find_backbone(const FeatureSource& trained);

}  // namespace parsnets::cli
