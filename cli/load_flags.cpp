#include "load_flags.hpp"

#include "data/folder.hpp"
#include "data/load_options.hpp"
#include "data/split_file.hpp"
#include "photo_data.hpp"

namespace parsnets::cli {

namespace {

void choose_as_trained(LoadOptions& load, const std::filesystem::path& folder, const DataProvenance& trained,
                       const Context& context) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return;
  if (!context.is_given("features") && !trained.features.empty())
    for (const auto& file : {trained.features_path, trained.features, trained.features + ".mat"})
      if (!file.empty() && std::filesystem::is_regular_file(folder / file, error)) {
        load.features = file;
        break;
      }
  // A split is of one data set; another one may have the same tables.
  if (!context.is_given("split") && folder_name(folder) == trained.name &&
      (trained.split_path == kStandardSplit || std::filesystem::exists(trained.split_path, error)))
    load.split = trained.split_path;
  if (context.is_given("semantics") || context.is_given("original-att")) return;
  const auto part = trained.semantics.find(":original_att");
  const std::string semantics =
      trained.semantics_path.empty() ? trained.semantics.substr(0, part) : trained.semantics_path;
  if (semantics.empty() || !files_are_there(semantics, folder)) return;
  load.semantics = semantics;
  load.original_att = part != std::string::npos;
}

}  // namespace

Dataset load_data(LoadOptions& load, const std::filesystem::path& folder, const Context& context) {
  load.seed = context.common.seed;
  return load_dataset(folder, load, context.progress);
}

Dataset load_as_trained(LoadOptions& load, const std::filesystem::path& given, const DataProvenance& trained,
                        Context& context) {
  std::filesystem::path folder = given;
  if (holds_photographs(given)) {
    BackboneChoice choice;
    choice.recorded = true;
    choice.memory_limit = load.memory_limit;
    choice.threads = context.threads();
    folder =
        data_of_photographs(given, {}, open_backbone_of(trained.source, choice, context.progress), choice, context);
  }
  choose_as_trained(load, folder, trained, context);
  return load_data(load, folder, context);
}

std::string source_doubt(const std::optional<FeatureSource>& trained, const std::optional<FeatureSource>& found,
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

}  // namespace parsnets::cli
