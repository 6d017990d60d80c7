// Plain folders: features.npy|npz|csv, labels.npy|csv (0-based classes or class names), attributes.csv or other tables
// of semantics, split.json, and optionally image_files.csv.

#include <fmt/format.h>

#include <optional>

#include "base/file.hpp"
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
  read_plain_tables(folder, options, data, progress);
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
    data.features = read_feature_file(*features, progress, MatrixPlace::within(options.memory_limit));
    check_feature_rows(*features, data.features.rows(), data.features.cols(), data);
  }
  data.image_files = read_image_files(folder, data.samples());
  if (!options.split.empty())
    data.split = read_split_file(options.split, folder, data, options.seed);
  else if (fs::exists(folder / "split.json"))
    data.split = read_split_json(folder / "split.json", data.class_names, data.labels, options.seed);
  else if (options.require_split)
    throw Error(BadInput{folder.string(), "split.json", "a split into seen and unseen classes", "none",
                         "add one, or draw one as docs/data.md describes"});
  return data;
}

void save_plain(const Dataset& data, const RowBlocks<float>& features, const fs::path& folder, DataFormat format,
                ProgressObserver*) {
  if (features.rows > 0) {
    if (format == DataFormat::csv) {
      write_csv(folder / "features.csv", features);
    } else if (format == DataFormat::npz) {
      NpzWriter archive(folder / "features.npz");
      archive.add("features", features);
      archive.commit();
    } else {
      write_npy(folder / "features.npy", features);
    }
    if (format == DataFormat::csv) {
      std::string lines;
      for (const auto label : data.labels) lines += std::to_string(label) + '\n';
      write_text_file(folder / "labels.csv", lines);
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
