#pragma once
// The tables of a study: methods x data sets, made from the files of results alone.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/reference.hpp"
#include "experiments/result_table.hpp"

namespace parsnets {

/// A data set with its features and semantics, and what was measured on it: files of BenchResults, null where not run.
struct StudySet {
  std::string title;  ///< heads its columns
  nlohmann::ordered_json methods, ablation, sparsity;
};

/// Table 1: ZSL accuracy. Rows of `own` and published rows about the sets follow the measured ones.
ResultTable zsl_table(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own);
/// Table 2: U, S and H.
ResultTable gzsl_table(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own);
/// ZSL and H of the parts of the method.
ResultTable ablation_table(const std::vector<StudySet>& sets);
/// ZSL and H by the number of open networks.
ResultTable sparsity_table(const std::vector<StudySet>& sets);
/// Seconds of training and size of the model file.
ResultTable cost_table(const std::vector<StudySet>& sets);
/// 95 % intervals of ZSL and H over classes and samples.
ResultTable interval_table(const std::vector<StudySet>& sets);
/// Difference of each method from the first, with the p-value of the paired test.
ResultTable comparison_table(const std::vector<StudySet>& sets);
/// What the columns are: features, semantics, split, sizes and checksum.
ResultTable data_table(const std::vector<StudySet>& sets);

/// The names of the tables above.
inline constexpr const char* kTableNames[] = {"zsl",   "gzsl",      "ablation",    "sparsity",
                                              "costs", "intervals", "comparisons", "data"};

/// All of those that have rows, in this order.
std::vector<ResultTable> study_tables(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own);

/// One data set: ZSL, U, S, H of every method, then rows that were not measured here.
ResultTable methods_table(const StudySet& set, const std::vector<CitedRow>& cited);
/// Rows about several data sets that were not measured here.
ResultTable cited_table(const std::vector<CitedRow>& rows);

}  // namespace parsnets
