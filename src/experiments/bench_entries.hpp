#pragma once
// What bench compares: rows of options.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/bench_results.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"
#include "train/train_options.hpp"
#include "train/train_run.hpp"

namespace parsnets {

struct Entry {
  std::string label;
  TrainOptions options;
  std::string note = {};  ///< what a reader must know to compare the row with the others; "" if nothing
};

/// "ridge,scln:gates=anchor:active=100": methods with options on top of `base`. Throws usage for what it does not know.
std::vector<Entry> method_entries(const std::string& text, const TrainSettings& base);

/// The parts of the paper's method, with the squared loss (linear map, scln, mmg, both; each row chooses lambda on
/// validation classes, unless it is given), and those of the default method. The last row is the model that 'train'
/// gives with `base`.
std::vector<Entry> ablation_entries(const TrainSettings& base);

/// "name=v1,v2" or "k" (active = 10, 20, 30, 40, 80, 120, 160, 200 of 200 networks): each entry with each value.
std::vector<Entry> sweep_entries(const std::string& text, const std::vector<Entry>& entries);

/// How a row is run. Functions may be empty.
struct RunEntry {
  std::uint64_t first_seed = 1, seeds = 1;
  std::function<std::string(const Error&)> message;                        ///< of a failure; empty: what()
  std::function<void(std::uint64_t seed)> before;                          ///< a run that is not there yet
  std::function<void(const Model&, const TrainRun&, std::uint64_t)> keep;  ///< the model of a run, before its result
};

/// Begins the entry's row in `results`, runs the seeds that are not there yet and adds the row's uncertainty. A failure
/// ends the row alone and is written in it. Throws cancelled by `progress`, and bad_input for earlier runs whose bits
/// do not fit the data.
void run_entry(const Entry& entry, const RunEntry& how, const Dataset& data, ThreadPool& pool,
               ProgressObserver* progress, BenchResults& results);

}  // namespace parsnets
