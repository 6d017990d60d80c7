#pragma once
// Results that were not measured here: what others report on the Proposed Splits, and rows of one's own.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

struct ReferenceAccuracy {
  double zsl = -1, u = -1, s = -1, h = -1;  ///< percent; -1: not published
};

struct ReferenceRow {
  std::string method, features, semantics, source;
  std::array<ReferenceAccuracy, 4> sets;  ///< SUN, CUB, AWA2, aPY
};

inline constexpr std::array<const char*, 4> kReferenceSets{"SUN", "CUB", "AWA2", "APY"};

const std::vector<ReferenceRow>& reference_rows();

/// Results of methods that were fitted to the test samples without their labels; never to be shown among the others.
/// Empty: no published figure could be checked against its source.
const std::vector<ReferenceRow>& transductive_reference_rows();

/// One method on one data set. Texts may be empty, accuracies are in percent.
struct CitedRow {
  std::string data, method, features, semantics, split, source;
  std::optional<double> zsl, u, s, h;
  bool own = false;  ///< from a file of the user's (eval/own_rows.hpp); otherwise published
};

/// Whether two names mean the same data set: equal but for the case of letters.
bool same_data_name(std::string_view a, std::string_view b);

/// The published rows about a set of kReferenceSets, in any case; none for another.
std::vector<CitedRow> published_rows(const std::string& data, bool transductive = false);

/// The fields of a row but its data set; accuracies that are not given are null.
nlohmann::ordered_json cited_row_json(const CitedRow& row);

}  // namespace parsnets
