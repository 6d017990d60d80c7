#pragma once
// A study of several methods on every data set under a folder, and its tables. Everything finished is kept on disk: the
// same call goes on where an earlier one stopped, and runs only what is new.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/find_datasets.hpp"
#include "experiments/result_table.hpp"
#include "parsnets/error.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct ReproduceOptions {
  std::filesystem::path root;  ///< searched for data sets
  std::filesystem::path out;   ///< made if need be
  /// paper, default and auto, or entries as of method_entries(). The first is the baseline of the paired test.
  std::string methods = "ridge,eszsl,sae,dap,paper,default,auto";
  int seeds = 3;                                     ///< of the methods
  std::uint64_t seed = 1;                            ///< the first one
  bool ablation = true, sparsity = true;             ///< first seed alone; grids of the ablation on one fold
  bool report = true;                                ///< write report.html
  std::size_t points = 1000;                         ///< of the t-SNE maps in the report, at most
  std::uint64_t memory_limit = 0;                    ///< bytes of the process in every training; 0: none
  std::filesystem::path rows;                        ///< file of own rows (eval/reference.hpp); empty: none
  std::function<std::string(const Error&)> message;  ///< how failures of methods are worded; empty: what()
};

struct Reproduction {
  std::vector<ResultTable> tables;  ///< also in out/tables, in every format
  std::vector<MissingDataset> missing;
  std::vector<std::string> skipped;              ///< data sets that could not be used, and why
  std::filesystem::path page;                    ///< the report; empty: none
  std::size_t runs = 0, reused = 0, failed = 0;  ///< trained now, taken from an earlier call, rows that failed
};

/// Runs the study. `out` holds, for each data set, results and models of the first seed, then tables/, results.md,
/// report.html and reproduce.json. A second process with the same `out` waits for the first. Throws usage for unknown
/// methods, bad_input without a data set and for results in `out` of other data or another version, cancelled by
/// `progress`.
Reproduction reproduce(const ReproduceOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr);

/// A training of a study.
struct StudyRun {
  std::string method;
  std::string data;         ///< name of the data set
  std::size_t samples = 0;  ///< that it trains on
  double seconds = 0;       ///< that it took; 0: it is still to be run
};

/// How long the trainings of `waiting` will take, in seconds. A run takes as long as the same method took on the same
/// data; failing that, as the method takes per sample on others; failing that, its rough share compared with methods
/// that ran. Nothing before the first run.
std::optional<double> time_left(const std::vector<StudyRun>& finished, const std::vector<StudyRun>& waiting);

}  // namespace parsnets
