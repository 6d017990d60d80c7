// Published results, collected from public repositories and papers; every row keeps its features and its source.

#include "eval/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json_file.hpp"
#include "base/text.hpp"
#include "eval/metrics.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

struct Accuracies {
  double zsl, u, s, h;  // percent; -1: not published
};

struct Row {
  std::string method, features, semantics, source;
  std::array<Accuracies, kReferenceSets.size()> sets;
};

const std::vector<Row>& table() {
  // Columns: SUN, CUB, AWA2, aPY; each {ZSL top-1 per class, U, S, H}; -1: not published.
  // clang-format off
  static const std::vector<Row> rows{
      {"DAP", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{39.9, 4.2, 25.1, 7.2}, {40.0, 1.7, 67.9, 3.3}, {46.1, 0, 84.7, 0}, {33.8, 4.8, 78.3, 9.0}}}},
      {"CONSE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{38.8, 6.8, 39.9, 11.6}, {34.3, 1.6, 72.2, 3.1}, {44.5, 0.5, 90.6, 1.0}, {26.9, 0, 91.2, 0}}}},
      {"SSE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{51.5, 2.1, 36.4, 4.0}, {43.9, 8.5, 46.9, 14.4}, {61.0, 8.1, 82.5, 14.8}, {34.0, 0.2, 78.9, 0.4}}}},
      {"DEVISE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{56.5, 16.9, 27.4, 20.9}, {52.0, 23.8, 53.0, 32.8}, {59.7, 17.1, 74.7, 27.8}, {39.8, 4.9, 76.9, 9.2}}}},
      {"SJE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{53.7, 14.7, 30.5, 19.8}, {53.9, 23.5, 59.2, 33.6}, {61.9, 8.0, 73.9, 14.4}, {32.9, 3.7, 55.7, 6.9}}}},
      {"LATEM", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{55.3, 14.7, 28.8, 19.5}, {49.3, 15.2, 57.3, 24.0}, {55.8, 11.5, 77.3, 20.0}, {35.2, 0.1, 73.0, 0.2}}}},
      {"ESZSL", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{54.5, 11.0, 27.9, 15.8}, {53.9, 12.6, 63.8, 21.0}, {58.6, 5.9, 77.8, 11.0}, {38.3, 2.4, 70.1, 4.6}}}},
      {"ALE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{58.1, 21.8, 33.1, 26.3}, {54.9, 23.7, 62.8, 34.4}, {62.5, 14.0, 81.8, 23.9}, {39.7, 4.6, 73.7, 8.7}}}},
      {"SYNC", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{56.3, 7.9, 43.3, 13.4}, {55.6, 11.5, 70.9, 19.8}, {46.6, 10.0, 90.5, 18.0}, {23.9, 7.4, 66.3, 13.3}}}},
      {"SAE", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{40.3, 8.8, 18.0, 11.8}, {33.3, 7.8, 54.0, 13.6}, {54.1, 1.1, 82.2, 2.2}, {8.3, 0.4, 80.9, 0.9}}}},
      {"SAE, reverse map (re-run)", "ResNet-101 frozen", "attributes", "mvp18/Popular-ZSL-Algorithms",
       {{{59.9, 19.0, 31.2, 23.6}, {46.7, 15.7, 57.0, 24.6}, {60.5, 12.9, 87.2, 22.4}, {16.5, 9.5, 56.6, 16.2}}}},
      {"GFZSL", "ResNet-101 frozen", "attributes", "vkverma01/Zero-Shot-Learning",
       {{{62.6, -1, -1, -1}, {49.2, -1, -1, -1}, {67.0, -1, -1, -1}, {-1, -1, -1, -1}}}},
      {"DEM (2 layers)", "ResNet-101 frozen", "attributes", "Xian et al., Table 6 (via EthanZhu90/ZSL_GAN_CVPR18)",
       {{{61.9, 20.5, 34.3, 25.6}, {51.7, 19.6, 57.9, 29.2}, {67.1, 30.5, 86.4, 45.1}, {35.0, 11.1, 75.1, 19.4}}}},
      {"Class-Norm MLP (20–30 s training)", "ResNet-101 frozen", "attributes", "universome/class-norm",
       {{{-1, 44.7, 41.6, 43.1}, {-1, 49.9, 50.7, 50.3}, {-1, 60.2, 77.1, 67.6}, {-1, -1, -1, -1}}}},
      {"f-CLSWGAN", "ResNet-101 frozen", "attributes", "uqzhichen/SDGZSL README",
       {{{60.8, 42.6, 36.6, 39.4}, {57.3, 43.7, 57.7, 49.7}, {65.3, 56.1, 65.5, 60.4}, {40.5, -1, -1, -1}}}},
      {"CADA-VAE", "ResNet-101 frozen", "attributes", "uqzhichen/SDGZSL README",
       {{{61.8, 47.2, 35.7, 40.6}, {61.8, 51.6, 53.5, 52.4}, {64.0, 55.8, 75.0, 63.9}, {-1, 31.7, 55.1, 40.3}}}},
      {"TF-VAEGAN (about 1.75 h training)", "ResNet-101 frozen", "attributes", "uqzhichen/SDGZSL README",
       {{{66.0, 45.6, 40.7, 43.0}, {64.9, 52.8, 64.7, 58.1}, {72.2, 59.8, 75.1, 66.6}, {-1, -1, -1, -1}}}},
      {"SDGZSL", "ResNet-101 frozen", "attributes", "uqzhichen/SDGZSL README",
       {{{62.4, 48.2, 36.1, 41.3}, {62.8, 51.5, 58.7, 54.9}, {72.1, 64.6, 73.6, 68.8}, {45.4, 38.0, 57.4, 45.7}}}},
      {"TF-VAEGAN, fine-tuned features", "ResNet-101 fine-tuned", "attributes", "uqzhichen/SDGZSL README",
       {{{66.7, 41.8, 51.9, 46.3}, {74.3, 63.8, 79.3, 70.7}, {73.4, 55.5, 83.6, 66.7}, {-1, -1, -1, -1}}}},
      {"PSVMA (ViT-B, fine-tuned)", "ViT-B fine-tuned", "attributes", "the ParsNets paper's tables",
       {{{66.5, 61.7, 45.3, 52.3}, {72.9, 70.1, 77.8, 73.8}, {79.4, 73.6, 77.3, 75.4}, {45.9, -1, -1, -1}}}},
      {"DGZ", "ResNet-101 frozen", "as its paper says", "the ParsNets paper's tables",
       {{{65.4, 49.9, 37.6, 42.8}, {80.1, 71.4, 64.8, 68.0}, {74.0, 65.9, 78.2, 71.5}, {46.6, 38.0, 63.5, 47.6}}}},
      {"ParsNets, as published", "ResNet-101, as its paper says", "not stated for CUB", "the ParsNets paper's tables",
       {{{70.2, 57.2, 49.5, 53.1}, {80.3, 72.8, 79.4, 76.0}, {82.6, 77.6, 81.4, 79.5}, {48.7, 42.3, 68.6, 52.3}}}},
      {"ParsNets, SCLN only (ablation, T1)", "ResNet-101, as its paper says", "not stated for CUB", "the ParsNets paper's tables",
       {{{51.4, -1, -1, -1}, {58.8, -1, -1, -1}, {67.2, -1, -1, -1}, {38.3, -1, -1, -1}}}},
      {"ParsNets, MMG only (ablation, T1)", "ResNet-101, as its paper says", "not stated for CUB", "the ParsNets paper's tables",
       {{{55.2, -1, -1, -1}, {67.2, -1, -1, -1}, {69.5, -1, -1, -1}, {40.1, -1, -1, -1}}}}};
  // clang-format on
  return rows;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

bool same_data_name(std::string_view a, std::string_view b) { return lower(a) == lower(b); }

std::vector<CitedRow> published_rows(const std::string& data) {
  std::vector<CitedRow> rows;
  const auto given = [](double v) { return v < 0 ? std::optional<double>() : std::optional<double>(v); };
  for (std::size_t k = 0; k < kReferenceSets.size(); ++k) {
    if (!same_data_name(data, kReferenceSets[k])) continue;
    for (const auto& row : table()) {
      const auto& f = row.sets[k];
      if (f.zsl < 0 && f.h < 0) continue;
      rows.push_back({kReferenceSets[k], row.method, row.features, row.semantics, "Proposed Split", row.source,
                      given(f.zsl), given(f.u), given(f.s), given(f.h), false});
    }
  }
  return rows;
}

nlohmann::ordered_json cited_row_json(const CitedRow& row) {
  const auto json = [](const std::optional<double>& v) {
    return v ? nlohmann::ordered_json(*v) : nlohmann::ordered_json();
  };
  return {{"method", row.method},       {"zsl", json(row.zsl)}, {"u", json(row.u)},
          {"s", json(row.s)},           {"h", json(row.h)},     {"features", row.features},
          {"semantics", row.semantics}, {"split", row.split},   {"source", row.source},
          {"measured", false},          {"own", row.own}};
}

namespace {

constexpr std::pair<const char*, std::string CitedRow::*> kTexts[] = {
    {"method", &CitedRow::method},       {"data", &CitedRow::data},   {"features", &CitedRow::features},
    {"semantics", &CitedRow::semantics}, {"split", &CitedRow::split}, {"source", &CitedRow::source}};
constexpr std::pair<const char*, std::optional<double> CitedRow::*> kAccuracies[] = {
    {"zsl", &CitedRow::zsl}, {"u", &CitedRow::u}, {"s", &CitedRow::s}, {"h", &CitedRow::h}};

constexpr double kTolerance = 0.15;  // U, S and H are each rounded to a tenth, or cut off

const std::vector<std::string> kFields{"method", "data", "features", "semantics", "split",
                                       "zsl",    "u",    "s",        "h",         "source"};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

/// A row as it was written, and where.
struct Cells {
  std::string place;                         ///< file:line, or the file and the number of the object
  std::map<std::string, std::string> cells;  ///< by field, in lower case
};

void add_cell(Cells& row, const std::string& name, std::string cell) {
  const std::string field = lower(trimmed(name));
  if (std::ranges::find(kFields, field) == kFields.end())
    throw Error(BadInput{row.place, "", fmt::format("the fields {}", fmt::join(kFields, ", ")),
                         in_quotes(name) + did_you_mean(field, kFields), "rename or remove the field"});
  if (!row.cells.emplace(field, std::move(cell)).second)
    throw Error(BadInput{row.place, field, "a field once", "it twice", "remove one"});
}

std::vector<Cells> csv_cells(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file, true);
  Cells head{file.string() + ":1", {}};
  for (const auto& name : table.header) add_cell(head, name, "");
  std::vector<Cells> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    rows.push_back({fmt::format("{}:{}", file.string(), table.lines[r]), {}});
    for (std::size_t c = 0; c < table.header.size(); ++c) add_cell(rows.back(), table.header[c], table.rows[r][c]);
  }
  return rows;
}

std::vector<Cells> json_cells(const std::filesystem::path& file) {
  const nlohmann::json list = read_json_file(file);
  if (!list.is_array())
    throw Error(BadInput{file.string(), "", "an array of objects", list.type_name(), "write [{...}, {...}]"});
  std::vector<Cells> rows;
  for (const auto& object : list) {
    rows.push_back({fmt::format("{}: row {}", file.string(), rows.size() + 1), {}});
    if (!object.is_object())
      throw Error(BadInput{rows.back().place, "", "an object", object.type_name(), "write [{...}, {...}]"});
    for (const auto& [name, value] : object.items()) {
      if (value.is_structured() || value.is_boolean())
        throw Error(BadInput{rows.back().place, name, "a text or a number", value.type_name(), "correct the value"});
      add_cell(rows.back(), name, value.is_null() ? "" : (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return rows;
}

std::string text_of(const Cells& row, const char* field) {
  const auto found = row.cells.find(field);
  return found == row.cells.end() ? "" : trimmed(found->second);
}

std::optional<double> percent_of(const Cells& row, const char* field) {
  const std::string text = text_of(row, field);
  double value = 0;
  if (!parse_number(text, value) || value < 0 || value > 100)
    throw Error(BadInput{row.place, field, "an accuracy in percent, 0 to 100, or nothing", in_quotes(text),
                         "correct the value"});
  return std::isnan(value) ? std::optional<double>() : std::optional<double>(value);
}

CitedRow row_from(const Cells& cells) {
  CitedRow row;
  row.own = true;
  for (const auto& [field, text] : kTexts) row.*text = text_of(cells, field);
  for (const auto& [field, accuracy] : kAccuracies) row.*accuracy = percent_of(cells, field);
  for (const auto& [field, value, meaning] : {std::tuple("method", &row.method, "the name of a method"),
                                              std::tuple("data", &row.data, "the name of a data set, such as CUB")})
    if (value->empty()) throw Error(BadInput{cells.place, field, meaning, "nothing", "fill it in"});
  if (row.u && row.s) {
    const double h = harmonic_mean(*row.u, *row.s);
    if (row.h && std::abs(*row.h - h) > kTolerance)
      throw Error(BadInput{cells.place, "h", fmt::format("the harmonic mean of U and S, {:.2f}", h),
                           fmt::format("{}", *row.h), "correct U, S or H, or leave H out"});
    if (!row.h) row.h = h;
  }
  if (!row.zsl && !row.u && !row.s && !row.h)
    throw Error(BadInput{cells.place, "", "at least one of ZSL, U, S, H", "none", "fill it in or remove the row"});
  return row;
}

/// A result that two rows give is a mistake in one of them.
void add_row(CitedRow row, const std::string& place, std::vector<CitedRow>& rows) {
  const auto about = [](const CitedRow& one) {
    return std::tie(one.data, one.method, one.features, one.semantics, one.split);
  };
  for (const auto& other : rows)
    for (const auto& [field, value] : kAccuracies)
      if (about(other) == about(row) && other.*value && row.*value)
        throw Error(BadInput{place, field, fmt::format("one row of '{}' on {}", row.method, row.data), "another one",
                             "remove one, or tell them apart by features, semantics or split"});
  rows.push_back(std::move(row));
}

}  // namespace

std::vector<CitedRow> read_own_rows(const std::filesystem::path& file) {
  std::vector<CitedRow> rows;
  for (const auto& cells : lower(file.extension().string()) == ".json" ? json_cells(file) : csv_cells(file))
    add_row(row_from(cells), cells.place, rows);
  if (rows.empty())
    throw Error(BadInput{file.string(), "", "at least one row", "none", "add rows, or leave the file out"});
  return rows;
}

std::vector<CitedRow> cited_rows(const std::string& name, const std::string& known_as, const std::string& proposed_of,
                                 const std::vector<CitedRow>& own) {
  std::vector<CitedRow> rows = published_rows(proposed_of);
  std::ranges::copy_if(own, std::back_inserter(rows), [&](const CitedRow& row) {
    return same_data_name(row.data, name) || same_data_name(row.data, known_as);
  });
  return rows;
}

}  // namespace parsnets
