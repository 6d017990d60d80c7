#pragma once
// The rows of bench, as JSON and as lines of a table.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/dataset.hpp"
#include "parsnets/training.hpp"

namespace parsnets::cli {

/// Trains and evaluates: the results, options and record of one seed.
nlohmann::ordered_json bench_run(const Dataset& data, const TrainOptions& options, ThreadPool& pool,
                                 ProgressObserver* progress);

/// {"zsl": {"mean", "sd", "low", "high"}, …} over runs.
nlohmann::ordered_json bench_summary(const nlohmann::ordered_json& runs);

std::string bench_table_head();
/// A line for {"method", "runs", "error"?}.
std::string bench_table_row(const nlohmann::ordered_json& method);
/// The published rows for a data set; empty if there are none.
std::string reference_table_rows(const std::string& data);

}  // namespace parsnets::cli
