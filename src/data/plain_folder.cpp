// Plain folders: features.npy|npz|csv, labels.npy|csv (0-based classes or class names), attributes.csv, split.json,
// and optionally image_files.csv.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "data/feature_rows.hpp"
#include "data/folder.hpp"
#include "data/semantics.hpp"
#include "data/split_file.hpp"
#include "data/split_json.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

/// The one file <stem>.<ending> among the endings; throws when there are several, nothing when there is none.
std::optional<fs::path> find_one(const fs::path& folder, const std::string& stem,
                                 std::initializer_list<const char*> endings) {
  std::vector<std::string> found;
  for (const auto* ending : endings)
    if (fs::exists(folder / (stem + ending))) found.push_back(stem + ending);
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    throw Error(BadInput{folder.string(), stem, "one file", quoted_list(found), "remove all but one"});
  return folder / found.front();
}

fs::path require_one(const fs::path& folder, const std::string& stem, std::initializer_list<const char*> endings,
                     const std::string& advice) {
  if (const auto found = find_one(folder, stem, endings)) return *found;
  std::string names;
  for (const auto* ending : endings) names += (names.empty() ? "" : " or ") + stem + ending;
  throw Error(BadInput{folder.string(), stem, "a file " + names, "none", advice});
}

void read_attributes(const fs::path& file, const LoadOptions& options, Dataset& data) {
  const CsvTable table = read_csv(file, true);
  const auto found = std::find(table.header.begin(), table.header.end(), "class");
  if (found == table.header.end())
    throw Error(BadInput{file.string(), "header", "a column 'class'", quoted_list(table.header),
                         "the first line names the columns: class, then the attributes"});
  if (table.header.size() < 2) throw Error(BadInput{file.string(), "header", "at least one attribute", "none", ""});
  if (table.rows.empty()) throw Error(BadInput{file.string(), "", "one row per class", "no rows", ""});
  const auto class_column = static_cast<std::size_t>(found - table.header.begin());
  std::vector<std::string> attribute_names;
  for (std::size_t c = 0; c < table.header.size(); ++c)
    if (c != class_column) attribute_names.push_back(table.header[c]);
  Matrix<double> raw(table.rows.size(), attribute_names.size());
  std::unordered_set<std::string_view> known;  // of names in the table
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::string& name = table.rows[r][class_column];
    if (name.empty())
      throw Error(
          BadInput{fmt::format("{}, row {}", file.string(), r + 1), "class", "a class name", "an empty cell", ""});
    if (!known.insert(name).second)
      throw Error(BadInput{fmt::format("{}, row {}", file.string(), r + 1), "class", "each class only once",
                           "'" + name + "' twice", "keep one row per class"});
    data.class_names.push_back(name);
    for (std::size_t c = 0, a = 0; c < table.header.size(); ++c) {
      if (c == class_column) continue;
      if (!parse_number(table.rows[r][c], raw(r, a++)))
        throw Error(BadInput{fmt::format("{}, row {}", file.string(), r + 1),
                             fmt::format("class '{}', attribute '{}'", name, table.header[c]),
                             "a number or an empty cell", "'" + table.rows[r][c] + "'", ""});
    }
  }
  mark_missing(raw.view());
  data.semantics =
      complete_semantics(raw.view(), options.missing, file.string(), "attributes", data.class_names, attribute_names);
  data.semantics.name = "attributes.csv";
}

std::vector<std::int32_t> labels_from_names(const std::vector<std::string>& names,
                                            const std::vector<std::string>& class_names, const std::string& file) {
  std::map<std::string, std::int32_t> index;
  for (std::size_t c = 0; c < class_names.size(); ++c) index[class_names[c]] = static_cast<std::int32_t>(c);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = index.find(names[i]);
    if (found == index.end())
      throw Error(BadInput{file, fmt::format("label of sample {}", i), "a class of attributes.csv",
                           "'" + names[i] + "'", "the classes are " + quoted_list(class_names)});
    labels.push_back(found->second);
  }
  return labels;
}

std::vector<std::int32_t> labels_from_numbers(std::span<const double> values, std::size_t classes,
                                              const std::string& file) {
  std::vector<std::int32_t> labels;
  for (const auto value : to_integers(values, file, "labels")) {
    if (value < 0 || value >= static_cast<std::int64_t>(classes))
      throw Error(BadInput{file, "labels", fmt::format("0-based classes from 0 to {}", classes - 1),
                           std::to_string(value), "labels are row numbers of attributes.csv, from 0, or class names"});
    labels.push_back(static_cast<std::int32_t>(value));
  }
  return labels;
}

std::vector<std::int32_t> labels_from_npy(const NpyLocation& where, const std::vector<std::string>& class_names) {
  const std::string file = where.file.string() + (where.member.empty() ? "" : ", member " + where.member);
  const NpyHeader header = read_npy_header(where);
  if (header.is_text) return labels_from_names(read_npy_strings(where), class_names, file);
  const Matrix<double> values = read_npy_double(where);
  if (values.rows() != 1 && values.cols() != 1)
    throw Error(BadInput{file, "labels", "one label per sample",
                         fmt::format("{} x {} values", values.rows(), values.cols()), ""});
  return labels_from_numbers(values.values(), class_names.size(), file);
}

std::vector<std::int32_t> labels_from_csv(const fs::path& file, const std::vector<std::string>& class_names) {
  CsvTable table = read_csv(file, false);
  std::vector<std::string> cells;
  for (const auto& row : table.rows) {
    if (row.size() != 1)
      throw Error(BadInput{file.string(), "labels", "one column", fmt::format("{} columns", row.size()), ""});
    cells.push_back(row.front());
  }
  // A first line that is neither a number nor a class is a header.
  double value = 0;
  if (!cells.empty() && !parse_number(cells.front(), value) &&
      std::count(class_names.begin(), class_names.end(), cells.front()) == 0)
    cells.erase(cells.begin());
  std::vector<double> numbers;
  for (const auto& cell : cells)
    if (parse_number(cell, value)) numbers.push_back(value);
  return numbers.size() == cells.size() ? labels_from_numbers(numbers, class_names.size(), file.string())
                                        : labels_from_names(cells, class_names, file.string());
}

/// Which member of an .npz holds `wanted`: that name, or the only member there is.
NpyLocation npz_member(const fs::path& file, const std::string& wanted) {
  const auto members = npz_members(file);
  if (std::find(members.begin(), members.end(), wanted) != members.end()) return {file, wanted};
  if (members.size() == 1) return {file, members.front()};
  throw Error(BadInput{file.string(), wanted, "a member of that name", quoted_list(members),
                       "save it as np.savez(..., " + wanted + "=x)"});
}

Matrix<float> read_feature_file(const fs::path& file, ProgressObserver* progress) {
  if (file.extension() == ".csv") return read_csv_float(file, progress);
  return read_npy_float(file.extension() == ".npz" ? npz_member(file, "features") : NpyLocation{file, ""}, progress);
}

std::vector<std::int32_t> read_label_file(const fs::path& folder, const fs::path& features,
                                          const std::vector<std::string>& class_names) {
  const auto file = find_one(folder, "labels", {".npy", ".npz", ".csv"});
  if (!file && features.extension() == ".npz") {
    const auto members = npz_members(features);
    if (std::find(members.begin(), members.end(), "labels") != members.end())
      return labels_from_npy({features, "labels"}, class_names);
  }
  if (!file) require_one(folder, "labels", {".npy", ".npz", ".csv"}, "one label per sample");
  if (file->extension() == ".csv") return labels_from_csv(*file, class_names);
  return labels_from_npy(file->extension() == ".npz" ? npz_member(*file, "labels") : NpyLocation{*file, ""},
                         class_names);
}

}  // namespace

std::unique_ptr<NpyRowReader> open_feature_rows(const Dataset& data) {
  const fs::path file = data.features_file;
  if (file.extension() != ".npy" && file.extension() != ".npz") return nullptr;
  auto rows =
      std::make_unique<NpyRowReader>(file.extension() == ".npz" ? npz_member(file, "features") : NpyLocation{file, ""});
  if (!rows->row_by_row()) return nullptr;
  if (rows->rows() != data.samples())
    throw Error(BadInput{file.string(), "features", fmt::format("{} samples, one per label", data.samples()),
                         fmt::format("{} x {}", rows->rows(), rows->cols()), "one row per sample"});
  return rows;
}

Dataset load_plain(const fs::path& folder, const LoadOptions& options, ProgressObserver* progress) {
  Dataset data;
  constexpr std::array<std::string_view, 4> kSemantics{"", "attributes.csv", "attributes", "att"};
  if (std::ranges::find(kSemantics, options.semantics) == kSemantics.end())
    throw Error(BadInput{folder.string(), "semantics '" + options.semantics + "'", "semantics of that name",
                         "only 'attributes.csv'", "leave out " + option_name("semantics")});
  const std::string stem = options.features.empty() ? "features" : options.features;
  std::optional<fs::path> features = find_one(folder, stem, {".npy", ".npz", ".csv"});
  const bool needed = options.require_features || (options.read_features && fs::exists(folder / "labels.npy"));
  if (!features && needed)
    require_one(folder, stem, {".npy", ".npz", ".csv"},
                "a data set folder contains features, labels, attributes.csv and split.json, or xlsa17's .mat files");
  if (!fs::exists(folder / "attributes.csv"))
    throw Error(BadInput{folder.string(), "attributes.csv", "a table of class attributes", "none",
                         "write one: a header 'class,<attributes>' and a row per class"});
  read_attributes(folder / "attributes.csv", options, data);
  const bool has_labels = find_one(folder, "labels", {".npy", ".npz", ".csv"}).has_value();
  if (!features && (options.read_features || !has_labels)) return data;

  if (features) {
    data.features_name = features->filename().string();
    data.features_file = features->string();
  }
  data.labels = read_label_file(folder, features.value_or(fs::path()), data.class_names);
  if (options.read_features) data.features = read_feature_file(*features, progress);
  if (options.read_features && data.features.rows() != data.samples())
    throw Error(BadInput{features->string(), "features", fmt::format("{} samples, one per label", data.samples()),
                         fmt::format("{} x {}", data.features.rows(), data.features.cols()), "one row per sample"});
  if (fs::exists(folder / "image_files.csv"))
    for (auto& row : read_csv(folder / "image_files.csv", true).rows) data.image_files.push_back(row.front());
  if (!data.image_files.empty() && data.image_files.size() != data.samples())
    throw Error(BadInput{(folder / "image_files.csv").string(), "",
                         fmt::format("{} names, one per label", data.samples()),
                         std::to_string(data.image_files.size()), ""});
  if (!options.split.empty())
    data.split = read_split_file(options.split, data, options.seed);
  else if (fs::exists(folder / "split.json"))
    data.split = read_split_json(folder / "split.json", data.class_names, data.labels, options.seed);
  else if (options.require_split)
    throw Error(BadInput{folder.string(), "split.json", "a split into seen and unseen classes", "none",
                         "add one, or draw one as docs/data.md describes"});
  return data;
}

void save_plain(const Dataset& data, const fs::path& folder, DataFormat format, ProgressObserver*) {
  if (!data.features.empty()) {
    if (format == DataFormat::csv) {
      write_csv(folder / "features.csv", data.features.view());
    } else if (format == DataFormat::npz) {
      NpzWriter archive(folder / "features.npz");
      archive.add("features", data.features.view());
      archive.commit();
    } else {
      write_npy(folder / "features.npy", data.features.view());
    }
    if (format == DataFormat::csv) {
      CsvTable labels{{}, {}};
      for (const auto label : data.labels) labels.rows.push_back({std::to_string(label)});
      write_csv(folder / "labels.csv", labels);
    } else {
      write_npy(folder / "labels.npy", data.labels);
    }
  }
  CsvTable attributes;
  attributes.header.push_back("class");
  for (std::size_t a = 0; a < data.semantics.values.cols(); ++a)
    attributes.header.push_back(data.semantics.attribute_names.empty() ? fmt::format("a{}", a + 1)
                                                                       : data.semantics.attribute_names[a]);
  for (std::size_t c = 0; c < data.classes(); ++c) {
    std::vector<std::string> row{data.class_names[c]};
    for (const float v : data.semantics.values.row(c)) row.push_back(format_number(v));
    attributes.rows.push_back(std::move(row));
  }
  write_csv(folder / "attributes.csv", attributes);
  if (!data.image_files.empty()) {
    CsvTable images{{"image_file"}, {}};
    for (const auto& name : data.image_files) images.rows.push_back({name});
    write_csv(folder / "image_files.csv", images);
  }
  if (!data.labels.empty()) write_split_json(folder / "split.json", data.split, data.class_names, data.labels);
}

}  // namespace parsnets
