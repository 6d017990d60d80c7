#pragma once
// Statistics files that commands read.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "features/statistics.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets::cli {

struct StatisticsInput {
  Statistics sum;
  std::vector<StatisticsPart> parts;  ///< one per file
};

/// Adds up the files in a list separated by commas. Throws bad_input naming the file that is damaged or does not fit,
/// usage for an empty list. `option`: the one that the list was given to.
StatisticsInput read_statistics(const std::string& list, const std::string& option, ProgressObserver* progress);

nlohmann::ordered_json statistics_info(const Statistics& statistics);
/// "7824 samples of 8 classes, …", from those facts.
std::string statistics_text(const nlohmann::ordered_json& facts);

}  // namespace parsnets::cli
