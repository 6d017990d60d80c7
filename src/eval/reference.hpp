#pragma once
// Results that were not measured here: what others report on the Proposed Splits, and rows of one's own.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// One method on one data set. Texts may be empty, accuracies are in percent.
struct CitedRow {
  std::string data, method, features, semantics, split, source;
  std::optional<double> zsl, u, s, h;
  bool own = false;  ///< from a file of the user's; otherwise published
};

/// Whether two names mean the same data set: equal but for the case of letters.
bool same_data_name(std::string_view a, std::string_view b);

/// The published rows, one data set after the other, from public repositories and papers. All are of methods that were
/// not fitted to the test samples.
const std::vector<CitedRow>& published_rows();

/// The fields of a row but its data set; accuracies that are not given are null.
nlohmann::ordered_json cited_row_json(const CitedRow& row);

// Rows of results from a file of the user's own, to be shown beside the published ones.

/// Reads a .json file (an array of objects) or a CSV table with a header line. Fields, in any case: method, data (the
/// name of the data set), features, semantics, split, ZSL, U, S, H, source. Needs method, data and one accuracy in each
/// row; accuracies are in percent. A missing H is computed from U and S. Throws bad_input naming the file, the line and
/// the field, also when H differs from the harmonic mean of U and S by more than 0.15 and when two rows give the same
/// result.
std::vector<CitedRow> read_own_rows(const std::filesystem::path& file);

/// The rows about a data set, by the names of Dataset and its split: the published ones if its split is the one they
/// are about, then those of `own` that name it by its folder or as the public data set that it is.
std::vector<CitedRow> cited_rows(const std::string& name, const std::string& known_as, const std::string& proposed_of,
                                 const std::vector<CitedRow>& own);

}  // namespace parsnets
