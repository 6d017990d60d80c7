#pragma once
// The results of methods over several data sets.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace parsnets {

/// The names of parts of a report, {"runs": [{"name", "summary"}, …]}: their data sets, with features, semantics and
/// split where parts on the same data set differ by these. All names are different.
std::vector<std::string> part_names(const std::vector<nlohmann::ordered_json>& parts);

/// {"parts": names, "rows": one per name of a run, "ranks": …}, see docs/report.md.
nlohmann::ordered_json overview_json(const std::vector<nlohmann::ordered_json>& parts,
                                     const std::vector<std::string>& names);

}  // namespace parsnets
