#pragma once
// The data of a report page about run folders, on one data set or on several.

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run_folder.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/report.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// JSON for report_page(). One data set is in memory at a time. `memory_limit` in bytes, 0: none. Throws usage for runs
/// that do not say what they were trained on and for a limit that does not suffice, else as report_data().
std::string report_on_runs(const std::vector<RunFolder>& folders, const ReportOptions& options,
                           std::uint64_t memory_limit, ThreadPool& pool, ProgressObserver* progress);

}  // namespace parsnets
