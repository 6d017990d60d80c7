#include "data/load_paths.hpp"

#include <algorithm>

#include "data/class_lists.hpp"
#include "data/semantic_tables.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

std::string absolute_item(const std::string& item, const fs::path& folder) {
  const fs::path path = item;
  const bool is_path =
      path.has_extension() && fs::is_regular_file(path) && (path.is_absolute() || !fs::is_regular_file(folder / path));
  return is_path ? fs::absolute(path).lexically_normal().string() : item;
}

}  // namespace

LoadOptions with_absolute_paths(LoadOptions options, const fs::path& folder) {
  options.features = absolute_item(options.features, folder);
  std::string semantics;
  for (const auto& item : split_table_names(options.semantics))
    semantics += (semantics.empty() ? "" : ",") + absolute_item(item, folder);
  options.semantics = semantics;
  if (!options.split.empty() && options.split != kStandardSplit)
    options.split = fs::absolute(options.split).lexically_normal();
  return options;
}

ChosenFiles chosen_files(const LoadOptions& options, const fs::path& folder) {
  const LoadOptions load = with_absolute_paths(options, folder);
  ChosenFiles chosen;
  if (fs::path(load.features).is_absolute()) chosen.features = load.features;
  if (std::ranges::any_of(split_table_names(load.semantics), [](const std::string& item) {
        return fs::path(item).is_absolute() || item.ends_with(".txt");
      }))
    chosen.semantics = load.semantics;
  chosen.split = load.split.string();
  return chosen;
}

bool files_are_there(const std::string& value, const fs::path& folder) {
  return std::ranges::all_of(split_table_names(value), [&](const std::string& item) {
    const auto there = [&](const std::string& file) { return fs::is_regular_file(folder / file); };
    return there(item) || there(item + "_splits.mat") || there(item + ".csv") || there(item + ".npy") ||
           there(item + ".vec") || (item == "att" && there("attributes.csv"));
  });
}

}  // namespace parsnets
