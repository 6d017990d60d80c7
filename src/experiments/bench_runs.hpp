#pragma once
// One training with its evaluation, as JSON, and the summary of several.

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// Trains and evaluates: the results, their intervals, which test samples were right, options and record of one seed.
/// `keep`, unless empty, gets the model and the seed.
nlohmann::ordered_json bench_run(const Dataset& data, const TrainOptions& options, ThreadPool& pool,
                                 ProgressObserver* progress,
                                 const std::function<void(const Model&, const TrainRun&, std::uint64_t)>& keep = {});

/// {"zsl": {"mean", "sd", "low", "high"}, …} over runs.
nlohmann::ordered_json bench_summary(const nlohmann::ordered_json& runs);

/// The number that the JSON pointer `at` names in each run that has it.
std::vector<double> values_of(const nlohmann::ordered_json& runs, const char* at);

}  // namespace parsnets
