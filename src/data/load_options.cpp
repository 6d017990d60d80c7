#include "data/load_options.hpp"

#include <algorithm>

#include "data/semantics.hpp"
#include "data/split_file.hpp"

namespace parsnets {

void add_load_options(OptionTable& table, LoadOptions& load) {
  table
      .text(
          "features", load.features,
          "features file: NAME of NAME.mat, .npy, .npz or .csv in the folder, or a path (default: the only one found)")
      .text("semantics", load.semantics,
            "semantics: NAME of NAME_splits.mat, NAME.csv or NAME.npy in the folder, or the path of a .csv, .npy or "
            "word-vector (.txt, .vec) file; several, separated by commas, describe classes together (default: att, or "
            "those of the model)")
      .flag("original-att", load.original_att, "read original_att instead of att")
      .advanced()
      .choice("missing", load.missing,
              {{"attribute-mean", MissingPolicy::attribute_mean},
               {"zero", MissingPolicy::zero},
               {"refuse", MissingPolicy::refuse}},
              "how to fill in missing attribute values")
      .advanced()
      .path("split", load.split,
            "split to use instead of the folder's own: a split.json from 'data split', a *_splits.mat, a folder with "
            "trainvalclasses.txt and testclasses.txt, or 'standard' to look for such a folder");
}

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

LoadOptions chosen_files(const LoadOptions& options, const fs::path& folder) {
  const LoadOptions load = with_absolute_paths(options, folder);
  LoadOptions chosen;
  if (fs::path(load.features).is_absolute()) chosen.features = load.features;
  if (std::ranges::any_of(split_table_names(load.semantics), [](const std::string& item) {
        return fs::path(item).is_absolute() || item.ends_with(".txt");
      }))
    chosen.semantics = load.semantics;
  chosen.split = load.split;
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
