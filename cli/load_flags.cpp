#include "load_flags.hpp"

#include <algorithm>

#include "data/folder.hpp"
#include "data/load_options.hpp"
#include "data/split_file.hpp"

namespace parsnets::cli {

void load_as_trained(LoadOptions& load, const std::filesystem::path& folder, const DataProvenance& trained,
                     const std::vector<std::string>& given) {
  const auto is_given = [&](const char* name) { return std::ranges::find(given, name) != given.end(); };
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return;
  if (!is_given("features") && !trained.features.empty())
    for (const auto& file : {trained.features_path, trained.features, trained.features + ".mat"})
      if (!file.empty() && std::filesystem::is_regular_file(folder / file, error)) {
        load.features = file;
        break;
      }
  // A split is of one data set; another one may have the same tables.
  if (!is_given("split") && folder_name(folder) == trained.name &&
      (trained.split_path == kStandardSplit || std::filesystem::exists(trained.split_path, error)))
    load.split = trained.split_path;
  if (is_given("semantics") || is_given("original-att")) return;
  const auto part = trained.semantics.find(":original_att");
  const std::string semantics =
      trained.semantics_path.empty() ? trained.semantics.substr(0, part) : trained.semantics_path;
  if (semantics.empty() || !files_are_there(semantics, folder)) return;
  load.semantics = semantics;
  load.original_att = part != std::string::npos;
}

}  // namespace parsnets::cli
