#include "experiments/study_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::vector<Entry> study_entries(const std::string& methods) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start <= methods.size();) {
    const std::size_t end = std::min(methods.find(',', start), methods.size());
    const std::string text = methods.substr(start, end - start);
    start = end + 1;
    Entry entry = method_entries(text, TrainSettings{}).front();
    entry.label = text;
    if (std::ranges::any_of(entries, [&](const Entry& other) { return other.label == text; }))
      throw Error(ErrorCode::usage,
                  fmt::format("{}: expected each method once, found '{}' twice", option_name("methods"), text));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    safe += std::isalnum(byte) != 0 || byte >= 0x80 || c == '.' || c == '-' || c == '_' ? c : '-';
  }
  return safe;
}

std::vector<StudyVariant> study_variants(const std::vector<FoundDataset>& found, const ReproduceOptions& options) {
  std::map<std::string, int> of_name;
  for (const auto& data : found) ++of_name[data.name];
  std::vector<StudyVariant> variants;
  for (const auto& data : found) {
    if (!data.problem.empty()) continue;
    const std::string place = data.folder.lexically_relative(options.root).generic_string();
    for (const auto& features : data.features)
      for (const auto& semantics : data.semantics) {
        StudyVariant variant{&data, {}, of_name[data.name] > 1 ? place : data.name, {}, 0};
        variant.load.features = data.features.size() > 1 ? features : "";
        variant.load.semantics = data.semantics.size() > 1 ? semantics : "";
        variant.load.seed = options.seed;
        if (data.semantics.size() > 1) variant.title += " " + semantics;
        if (data.features.size() > 1) variant.title += " " + features;
        if (!data.known_as.empty() && data.name.find(data.known_as) == std::string::npos)
          variant.title += " (" + data.known_as + ")";
        // All of it, so that results keep their folder when data sets, features or semantics are added.
        variant.folder = options.out / file_name(fmt::format("{}-{}-{}", place == "." ? data.name : place,
                                                             std::filesystem::path(features).stem().string(),
                                                             std::filesystem::path(semantics).stem().string()));
        variants.push_back(std::move(variant));
      }
  }
  return variants;
}

std::vector<StudyPlan> study_plan(const ReproduceOptions& options) {
  std::vector<StudyPlan> plan;
  plan.push_back({StudyPart::methods, study_entries(options.methods), static_cast<std::uint64_t>(options.seeds)});
  if (options.ablation) plan.push_back({StudyPart::ablation, ablation_entries(TrainSettings{}), 1});
  if (options.sparsity)
    plan.push_back({StudyPart::sparsity, sweep_entries("k", method_entries("parsnets", TrainSettings{})), 1});
  for (auto& part : plan)
    for (auto& entry : part.entries) {
      entry.options.run.memory_limit = options.memory_limit;
      // Rows of the ablation search a grid each: on one fold, or they would take most of the time.
      if (part.part == StudyPart::ablation && entry.options.search.kind == Search::grid)
        entry.options.calibration.folds = 1;
    }
  return plan;
}

std::filesystem::path results_file(const StudyVariant& variant, StudyPart part) {
  if (part == StudyPart::methods) return variant.folder / "methods.json";
  return variant.folder / "default" / (part == StudyPart::ablation ? "ablation.json" : "sparsity.json");
}

}  // namespace parsnets
