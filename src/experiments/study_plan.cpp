#include "experiments/study_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// paper, default and auto are names of presets; anything else is a method with options.
std::vector<Entry> study_entries(const std::string& methods) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start <= methods.size();) {
    const std::size_t end = std::min(methods.find(',', start), methods.size());
    const std::string text = methods.substr(start, end - start);
    start = end + 1;
    const std::string name = text.substr(0, text.find(':')), rest = text.substr(name.size());
    const std::string as_method = name == "default"                   ? "parsnets" + rest
                                  : name == "paper" || name == "auto" ? "parsnets:preset=" + name + rest
                                                                      : text;
    Entry entry = method_entries(as_method, TrainOptions{}).front();
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
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ? c : '-';
  return safe;
}

std::vector<StudyVariant> study_variants(const std::vector<FoundDataset>& found, const ReproduceOptions& options) {
  std::vector<StudyVariant> variants;
  std::set<std::string> folders;
  for (const auto& data : found) {
    if (!data.problem.empty()) continue;
    bool first = true;
    for (const auto& features : data.features)
      for (const auto& semantics : data.semantics) {
        StudyVariant variant{&data, {}, data.name, {}, first, 0};
        variant.load.features = data.features.size() > 1 ? features : "";
        variant.load.semantics = data.semantics.size() > 1 ? semantics : "";
        variant.load.seed = options.seed;
        if (data.semantics.size() > 1) variant.title += " " + semantics;
        if (data.features.size() > 1) variant.title += " " + features;
        if (!data.known_as.empty() && data.name.find(data.known_as) == std::string::npos)
          variant.title += " (" + data.known_as + ")";
        const std::string name = file_name(variant.title);
        std::string unique = name;  // folders of one name in different places
        for (int i = 2; !folders.insert(unique).second; ++i) unique = fmt::format("{}-{}", name, i);
        if (unique != name) variant.title += fmt::format(" [{}]", data.folder.parent_path().filename().string());
        variant.folder = options.out / unique;
        variants.push_back(std::move(variant));
        first = false;
      }
  }
  return variants;
}

std::vector<StudyPlan> study_plan(const ReproduceOptions& options) {
  std::vector<StudyPlan> plan;
  plan.push_back({StudyPart::methods, study_entries(options.methods), static_cast<std::uint64_t>(options.seeds)});
  if (options.ablation) plan.push_back({StudyPart::ablation, ablation_entries(TrainOptions{}), 1});
  if (options.sparsity)
    plan.push_back({StudyPart::sparsity, sweep_entries("k", method_entries("parsnets", TrainOptions{})), 1});
  for (auto& part : plan)
    for (auto& entry : part.entries) {
      entry.options.run.memory_limit = options.memory_limit;
      // Rows of the ablation search a grid each: on one fold, or they would take most of the time.
      if (part.part == StudyPart::ablation && entry.options.search.select) entry.options.search.folds = 1;
    }
  return plan;
}

std::filesystem::path results_file(const StudyVariant& variant, StudyPart part) {
  if (part == StudyPart::methods) return variant.folder / "methods.json";
  return variant.folder / "default" / (part == StudyPart::ablation ? "ablation.json" : "sparsity.json");
}

}  // namespace parsnets
