#include "load_flags.hpp"

#include <algorithm>

namespace parsnets::cli {

void load_as_trained(LoadOptions& load, const std::filesystem::path& folder, const DataProvenance& trained,
                     const std::vector<std::string>& given) {
  const auto is_given = [&](const char* name) { return std::ranges::find(given, name) != given.end(); };
  const auto is_there = [&](const std::string& file) { return std::filesystem::is_regular_file(folder / file); };
  if (const std::string& features = trained.features; !is_given("features") && !features.empty()) {
    if (is_there(features + ".mat")) load.features = features;
    if (is_there(features)) load.features = std::filesystem::path(features).stem().string();
  }
  if (is_given("semantics") || is_given("original-att")) return;
  const auto part = trained.semantics.find(":original_att");
  const std::string semantics = trained.semantics.substr(0, part);
  std::error_code error;
  if (semantics.empty() || !std::filesystem::is_directory(folder, error)) return;
  const bool of_mat_files = std::ranges::any_of(std::filesystem::directory_iterator(folder),
                                                [](const auto& entry) { return entry.path().extension() == ".mat"; });
  for (std::size_t start = 0; start <= semantics.size();) {
    const std::size_t end = std::min(semantics.find(',', start), semantics.size());
    const std::string table = semantics.substr(start, end - start);
    const bool found = of_mat_files ? is_there(table + "_splits.mat")
                                    : is_there(table) || is_there(table + ".csv") || is_there(table + ".npy") ||
                                          (table == "att" && is_there("attributes.csv"));
    if (!found) return;
    start = end + 1;
  }
  load.semantics = semantics;
  load.original_att = part != std::string::npos;
}

}  // namespace parsnets::cli
