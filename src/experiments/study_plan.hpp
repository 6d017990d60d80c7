#pragma once
// What a study runs: data sets in every choice of features and semantics, and the rows of each of its parts.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/bench_entries.hpp"
#include "experiments/reproduce.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// A data set with one choice of features and semantics.
struct StudyVariant {
  const FoundDataset* found;  ///< must outlive it
  LoadOptions load;
  std::string title;             ///< in tables and messages
  std::filesystem::path folder;  ///< of its results
  std::size_t samples = 0;       ///< that methods train on; 0: not known yet
};
/// Those of the complete data sets. Titles and folders tell them apart; folders depend on nothing but path, features
/// and semantics.
std::vector<StudyVariant> study_variants(const std::vector<FoundDataset>& found, const ReproduceOptions& options);

enum class StudyPart { methods, ablation, sparsity };

struct StudyPlan {
  StudyPart part;
  std::vector<Entry> entries;
  std::uint64_t seeds;
};
/// The parts that the options ask for, methods first. Throws usage for methods that are unknown or occur twice.
std::vector<StudyPlan> study_plan(const ReproduceOptions& options);

/// The file of a part's results. Those of the parts of the method lie beside the default model, where the report looks.
std::filesystem::path results_file(const StudyVariant& variant, StudyPart part);

/// The letters of a name that every file system takes.
std::string file_name(const std::string& name);

}  // namespace parsnets
