#include "experiments/run_entry.hpp"

#include <new>

#include "experiments/bench_runs.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// What decides a row's results beside data and seed.
nlohmann::ordered_json asked_of(const Entry& entry) {
  TrainOptions options = entry.options;
  options.run.memory_limit = 0;  // no result depends on it
  return {{"options", train_option_table(options).to_json()}};
}

}  // namespace

void run_entry(const Entry& entry, const RunEntry& how, const Dataset& data, ThreadPool& pool,
               ProgressObserver* progress, BenchResults& results) {
  results.begin_row(entry.label, asked_of(entry), entry.note, how.seeds.first, how.seeds.count);
  try {
    for (std::uint64_t i = 0; i < how.seeds.count; ++i) {
      TrainOptions options = entry.options;
      options.run.seed = how.seeds.first + i;
      if (results.has_run(options.run.seed)) continue;
      if (how.before) how.before(options.run.seed);
      results.add_run(bench_run(data, options, pool, progress, how.keep));
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    results.fail_row(how.message ? how.message(error) : error.what());
  } catch (const std::bad_alloc&) {
    results.fail_row("not enough memory");
  }
  results.add_uncertainty(data, pool);
}

}  // namespace parsnets
