// Plain folders: features.npy|npz|csv, labels.npy|csv (0-based classes or class names), attributes.csv or other tables
// of semantics, split.json, and optionally image_files.csv.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "data/feature_rows.hpp"
#include "data/folder.hpp"
#include "data/plain_tables.hpp"
#include "data/split_file.hpp"
#include "data/split_json.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

fs::path require_one(const fs::path& folder, const std::string& stem, std::initializer_list<const char*> endings,
                     const std::string& advice) {
  if (const auto found = find_one(folder, stem, endings)) return *found;
  std::string names;
  for (const auto* ending : endings) names += (names.empty() ? "" : " or ") + stem + ending;
  throw Error(BadInput{folder.string(), stem, "a file " + names, "none", advice});
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
  const std::string stem = options.features.empty() ? "features" : options.features;
  std::optional<fs::path> features = find_one(folder, stem, {".npy", ".npz", ".csv"});
  const bool needed = options.require_features || (options.read_features && fs::exists(folder / "labels.npy"));
  if (!features && needed)
    require_one(folder, stem, {".npy", ".npz", ".csv"},
                "a data set folder contains features, labels, attributes.csv and split.json, or xlsa17's .mat files");
  read_plain_tables(folder, options, data);
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
  write_plain_tables(data, folder);
  if (!data.image_files.empty()) {
    CsvTable images{{"image_file"}, {}};
    for (const auto& name : data.image_files) images.rows.push_back({name});
    write_csv(folder / "image_files.csv", images);
  }
  if (!data.labels.empty()) write_split_json(folder / "split.json", data.split, data.class_names, data.labels);
}

}  // namespace parsnets
