#pragma once
// The file of `bench --out`: written after every run, so that nothing finished is lost.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/uncertainty.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"
#include "train/train_run.hpp"

namespace parsnets {

/// What all rows have in common: version, data set, split, CRC-32 of features, labels, semantics and split, seeds.
nlohmann::ordered_json bench_info(const Dataset& data, std::uint64_t seed, std::uint64_t seeds);

/// What such a file holds. Throws bad_input unless it is an object with rows, runs and seeds.
nlohmann::ordered_json read_bench_results(const std::filesystem::path& file);

class BenchResults {
 public:
  /// `info`: what all rows have in common, the start of the file. An empty path keeps the rows in memory alone. With
  /// `resume` the runs of an earlier file are there to be taken over; throws bad_input when its start differs.
  BenchResults(nlohmann::ordered_json info, std::filesystem::path file, bool resume);

  /// A row with the earlier runs of the same options and of seeds from `first` to first + count − 1. Runs of other
  /// seeds stay in the file as "other_runs"; nothing is computed from them.
  void begin_row(const std::string& label, const nlohmann::ordered_json& asked, const std::string& note,
                 std::uint64_t first, std::uint64_t count);
  bool has_run(std::uint64_t seed) const;
  void add_run(nlohmann::ordered_json run);
  void fail_row(const std::string& reason);
  /// Adds {"intervals", "versus": {"method", ...}} to the row: intervals of its results over seeds, and the paired
  /// comparison with the first row. What needs runs that do not say which test samples were right is left out.
  void add_uncertainty(const Dataset& data, ThreadPool& pool);

  const nlohmann::ordered_json& row() const { return json_["methods"].back(); }
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  void save() const;

  nlohmann::ordered_json json_, earlier_;
  std::filesystem::path file_;
};

/// Trains and evaluates: the results, their intervals, which test samples were right, options and record of one seed.
/// `keep`, unless empty, gets the model and the seed.
nlohmann::ordered_json bench_run(const Dataset& data, const TrainOptions& options, ThreadPool& pool,
                                 ProgressObserver* progress,
                                 const std::function<void(const Model&, const TrainRun&, std::uint64_t)>& keep = {});

/// The number that the JSON pointer `at` names in each run that has it.
std::vector<double> values_of(const nlohmann::ordered_json& runs, const char* at);

// Which test samples the runs of bench predicted right, and what follows from it, as JSON.

/// {"zsl", "unseen"?, "seen"?}: one bit per test sample as in sample_set.hpp, in the order of the split.
nlohmann::ordered_json correctness_json(const Correctness& correct);

/// The outcomes of runs on `data`. Nothing without runs, or if one does not say which samples were right: runs of
/// version 0.1 do not. Throws bad_input for bits that do not fit the data.
std::optional<Outcomes> outcomes_of_runs(const nlohmann::ordered_json& runs, const Dataset& data);

// The results of an evaluation as eval and bench print them.

/// {"units": "percent", "zsl": {...}, "gzsl": {...}}. `gamma_from`: where gamma comes from.
nlohmann::ordered_json evaluation_json(const Evaluation& report, const std::string& gamma_from);

/// {"zsl": {"estimate", "low", "high"}, "u", "s", "h"}: percent; the last three with GZSL alone.
nlohmann::ordered_json intervals_json(const EvaluationIntervals& intervals);

}  // namespace parsnets
