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

/// The tables of a study, in this order: ZSL accuracy (table 1), U, S and H (table 2), parts of the method, numbers of
/// active networks, seconds and sizes, 95 % intervals, differences from the first method with p of the paired test, and
/// what the columns are.
inline constexpr const char* kTableNames[] = {"zsl",   "gzsl",      "ablation",    "sparsity",
                                              "costs", "intervals", "comparisons", "data"};

/// Those that have rows. In tables 1 and 2, rows of `own` and published rows about the sets follow the measured ones.
std::vector<ResultTable> study_tables(const std::vector<StudySet>& sets, const std::vector<CitedRow>& own);

/// One data set: ZSL, U, S, H of every method, then rows that were not measured here.
ResultTable methods_table(const StudySet& set, const std::vector<CitedRow>& cited);
/// Rows about several data sets that were not measured here.
ResultTable cited_table(const std::vector<CitedRow>& rows);

}  // namespace parsnets
