#pragma once
// Results that were not measured here: what others report on the Proposed Splits, and rows of one's own.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// The data sets that published rows are about.
inline constexpr std::array<const char*, 4> kReferenceSets{"SUN", "CUB", "AWA2", "APY"};

/// One method on one data set. Texts may be empty, accuracies are in percent.
struct CitedRow {
  std::string data, method, features, semantics, split, source;
  std::optional<double> zsl, u, s, h;
  bool own = false;  ///< from a file of the user's (eval/own_rows.hpp); otherwise published
};

/// Whether two names mean the same data set: equal but for the case of letters.
bool same_data_name(std::string_view a, std::string_view b);

/// The published rows about a set of kReferenceSets, in any case; none for another. `transductive`: those of methods
/// that were fitted to the test samples without their labels, never to be shown among the others. There are none of
/// these: no published figure could be checked against its source.
std::vector<CitedRow> published_rows(const std::string& data, bool transductive = false);

/// The fields of a row but its data set; accuracies that are not given are null.
nlohmann::ordered_json cited_row_json(const CitedRow& row);

}  // namespace parsnets
