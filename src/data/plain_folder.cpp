// Plain folders: features.npy|npz|csv, labels.npy|csv (0-based classes or class names), attributes.csv or other tables
// of semantics, split.json, and optionally image_files.csv.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/file.hpp"
#include "data/folder.hpp"
#include "data/sample_files.hpp"
#include "data/semantics.hpp"
#include "data/split.hpp"
#include "data/split_file.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

const std::string kAttributes = "attributes";

/// Of table `name`, which may have an ending or be a path. "att" is how folders of .mat files call attributes.csv.
fs::path table_file(const fs::path& folder, const std::string& name) {
  if (const auto file = find_table_file(folder, name)) return *file;
  if (const auto found = find_one(folder, name, {".csv", ".npy"})) return *found;
  if (name == "att" && fs::exists(folder / "attributes.csv")) return folder / "attributes.csv";
  if (name == kAttributes || name == "attributes.csv" || name == "att")
    throw Error(BadInput{folder.string(), "attributes.csv", "a table of class attributes", "none",
                         "write one: a header 'class,<attributes>' and a row per class"});
  std::vector<std::string> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    if (is_table_file(entry.path()) && stem != "features" && stem != "labels" && stem != "image_files")
      others.push_back(entry.path().filename().string());
  }
  std::ranges::sort(others);
  throw Error(BadInput{folder.string(), "semantics '" + name + "'",
                       is_table_file(name) ? "a file of that name in the folder, or the path of a file"
                                           : fmt::format("a file {0}.csv or {0}.npy", name),
                       "only " + quoted_list(others), "set " + option_name("semantics") + " to one of them"});
}

CsvTable as_csv(const Semantics& table, const std::vector<std::string>& class_names) {
  CsvTable csv;
  csv.header.push_back("class");
  for (std::size_t a = 0; a < table.values.cols(); ++a)
    csv.header.push_back(table.attribute_names.empty() ? fmt::format("a{}", a + 1) : table.attribute_names[a]);
  for (std::size_t c = 0; c < class_names.size(); ++c) {
    std::vector<std::string> row{class_names[c]};
    for (const float v : table.values.row(c)) row.push_back(format_number(v));
    csv.rows.push_back(std::move(row));
  }
  return csv;
}

void read_plain_tables(const fs::path& folder, const LoadOptions& options, Dataset& data, ProgressObserver* progress) {
  const auto names = split_table_names(options.semantics.empty() ? kAttributes : options.semantics);
  std::vector<fs::path> files;
  for (const auto& name : names) {
    files.push_back(table_file(folder, name));
    if (std::ranges::count(files, files.back()) > 1)
      throw Error(ErrorCode::usage, fmt::format("{}: expected different tables, found {} twice",
                                                option_name("semantics"), files.back().filename().string()));
  }
  fs::path from = folder / "attributes.csv";
  for (const auto& file : files)
    if (!fs::exists(from) && file.extension() == ".csv") from = file;
  if (!fs::exists(from))
    throw Error(BadInput{folder.string(), "semantics '" + options.semantics + "'", "a table that names the classes",
                         "none", "add attributes.csv: a header 'class,<attributes>' and a row per class"});
  data.class_names = table_class_names(from);
  std::vector<ClassTable> tables;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const bool is_file = names.size() == 1 || find_table_file(folder, names[t]);
    tables.push_back(read_class_table(files[t], is_file ? table_name(files[t], names.size()) : names[t],
                                      options.missing, data, progress));
  }
  data.semantics = join_tables(std::move(tables), data.class_names, from.string());
}

void write_plain_tables(const Dataset& data, const fs::path& folder) {
  for (std::size_t t = 0; t < std::max<std::size_t>(1, data.semantics.tables.size()); ++t) {
    const Semantics table = table_of(data.semantics, t);
    const bool usual = data.semantics.tables.empty() || table.name == "att";
    write_csv(folder / ((usual ? kAttributes : table.name) + ".csv"), as_csv(table, data.class_names));
  }
}

fs::path require_one(const fs::path& folder, const std::string& stem, Endings endings, const std::string& advice) {
  if (const auto found = find_one(folder, stem, endings)) return *found;
  std::string names;
  for (const auto* ending : endings) names += (names.empty() ? "" : " or ") + stem + ending;
  throw Error(BadInput{folder.string(), stem, "a file " + names, "none", advice});
}

}  // namespace

Dataset load_plain(const fs::path& folder, const LoadOptions& options, ProgressObserver* progress) {
  Dataset data;
  const std::string stem = options.features.empty() ? "features" : options.features;
  std::optional<fs::path> features = find_named(folder, stem, kSampleEndings);
  const bool needed = options.require_features || (options.read_features && fs::exists(folder / "labels.npy"));
  if (!features && needed)
    require_one(folder, stem, kSampleEndings,
                "a data set folder contains features, labels, attributes.csv and split.json, or xlsa17's .mat files");
  read_plain_tables(folder, options, data, progress);
  const bool has_labels = find_one(folder, "labels", kSampleEndings).has_value();
  if (!features && (options.read_features || !has_labels)) return data;

  if (features) {
    data.features_name = features->filename().string();
    data.features_file = features->string();
  }
  auto labels = read_label_file(folder, features.value_or(fs::path()), data.class_names, LabelBase::zero);
  if (!labels) require_one(folder, "labels", kSampleEndings, "one label per sample");
  data.labels = std::move(labels->labels);
  read_features(options, data, progress);
  data.image_files = read_image_files(folder, data.samples());
  if (!options.split.empty())
    data.split = read_split_file(options.split, folder, data, options.seed);
  else if (fs::exists(folder / "split.json"))
    data.split = read_split_json(folder / "split.json", data.class_names, data.labels, options.seed);
  else if (options.require_split)
    data.split = split_without_test(data.labels, options.seed);
  return data;
}

void save_plain(const Dataset& data, const RowBlocks<float>& features, const fs::path& folder, DataFormat format) {
  if (features.rows > 0) {
    if (format == DataFormat::csv) {
      write_csv(folder / "features.csv", features);
      std::string lines;
      for (const auto label : data.labels) lines += std::to_string(label) + '\n';
      write_text_file(folder / "labels.csv", lines);
    } else {
      write_npy(folder / "features.npy", features);
      write_npy(folder / "labels.npy", data.labels);
    }
  }
  write_plain_tables(data, folder);
  if (!data.image_files.empty()) {
    CsvTable images{{"image_file"}, {}};
    for (const auto& name : data.image_files) images.rows.push_back({name});
    write_csv(folder / "image_files.csv", images);
  }
  if (!data.labels.empty() && !data.split.test_unseen.empty())
    write_split_json(folder / "split.json", data.split, data.class_names, data.labels);
}

}  // namespace parsnets
