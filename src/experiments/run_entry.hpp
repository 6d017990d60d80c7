#pragma once
// Trains a row of a benchmark over its seeds.

#include <cstdint>
#include <functional>

#include "experiments/bench_entries.hpp"
#include "experiments/bench_results.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/error.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// Which seeds a row is run with.
struct SeedRange {
  std::uint64_t first = 1, count = 1;
};

/// How a row is run. Functions may be empty.
struct RunEntry {
  SeedRange seeds;
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
