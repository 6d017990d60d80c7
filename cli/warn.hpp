#pragma once
// Warnings that a command gives while it works.

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/sample_set.hpp"

namespace parsnets::cli {

// Messages on standard error.

/// Writes to standard error. Where nobody reads it, as in a closed pipe or on a full disk, the work goes on.
inline void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

/// To standard error at once, and to the "warnings" of `json`. Nothing for "".
inline void warn(const Context& context, const std::string& warning, nlohmann::ordered_json& json) {
  if (warning.empty()) return;
  context.print("");  // the line of progress goes first
  if (context.processes.rank() == 0) say("warning: " + warning + "\n");
  json["warnings"].push_back(warning);
}

/// Why a model and features may not fit: only one of them says which network made its features. Otherwise "".
inline std::string source_doubt(const std::optional<FeatureSource>& trained, const std::optional<FeatureSource>& found,
                                const std::string& file) {
  if (trained.has_value() == found.has_value()) return "";
  if (trained)
    return fmt::format(
        "{}: nothing says which network made these features (no {} beside them); the model was trained on those of {}, "
        "and those of another network get wrong classes",
        file, kExtractionFile, describe(*trained));
  return fmt::format(
      "{}: these features are of {}, and the model does not say which network made those that it was trained on; those "
      "of another network get wrong classes",
      file, describe(*found));
}

/// Of a features file given on the command line.
inline std::string source_doubt(const std::optional<FeatureSource>& trained, const std::filesystem::path& file) {
  return source_doubt(trained, read_feature_source(file), file.string());
}

inline std::string source_doubt(const std::optional<FeatureSource>& trained, const Dataset& data) {
  return source_doubt(trained, data.source, features_source(data));
}

// Warnings as a person reads them.

/// "warning: ...", a line for each of the "warnings" in `json`; "" without any.
inline std::string warning_lines(const nlohmann::ordered_json& json) {
  std::string text;
  for (const auto& warning : json.value("warnings", std::vector<std::string>{})) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace parsnets::cli
