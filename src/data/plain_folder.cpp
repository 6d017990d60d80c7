// Plain folders: features.npy|npz|csv, labels.npy|csv (0-based classes or class names), attributes.csv or other tables
// of semantics, split.json, and optionally image_files.csv.

#include <fmt/format.h>

#include <optional>

#include "data/feature_rows.hpp"
#include "data/folder.hpp"
#include "data/folder_files.hpp"
#include "data/label_files.hpp"
#include "data/plain_tables.hpp"
#include "data/split_file.hpp"
#include "data/split_json.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

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
  std::optional<fs::path> features = find_named(folder, stem, {".npy", ".npz", ".csv"});
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
  auto labels = read_label_file(folder, features.value_or(fs::path()), data.class_names, LabelBase::zero);
  if (!labels) require_one(folder, "labels", {".npy", ".npz", ".csv"}, "one label per sample");
  data.labels = std::move(labels->labels);
  if (options.read_features) {
    data.features = read_feature_file(*features, progress);
    check_feature_rows(*features, data.features.rows(), data.features.cols(), data);
  }
  data.image_files = read_image_files(folder, data.samples());
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
