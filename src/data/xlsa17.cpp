// xlsa17-style folders: <features>.mat (`features` d x N, `labels`, `image_files`), or features in .npy, .npz or .csv
// files with labels from another file, beside <semantics>_splits.mat
// (`att` m x C, `original_att`, `allclasses_names`, and 1-based index lists *_loc).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "data/folder.hpp"
#include "data/sample_files.hpp"
#include "data/semantics.hpp"
#include "data/split_file.hpp"
#include "formats/mat.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

const std::string kDefaultSemantics = "att";

std::unique_ptr<MatFile> open_splits(const fs::path& folder, const std::string& semantics) {
  const auto path = folder / splits_file(semantics);
  if (is_table_file(semantics))
    throw Error(BadInput{semantics, "", "a file of that name in the folder, or the path of a file", "none",
                         "check " + option_name("semantics")});
  if (!fs::exists(path))
    throw Error(BadInput{path.string(), "", "the file with semantics and splits",
                         "only " + quoted_list(splits_names(folder)),
                         "set " + option_name("semantics") + " to one of them"});
  return MatFile::open(path);
}

/// The features file to read, or nothing when there is none and none is required. By default the only .mat, and without
/// any the only array file.
std::optional<fs::path> choose_features(const fs::path& folder, const LoadOptions& options, std::size_t classes) {
  auto usual = mat_features(folder);
  if (usual.empty()) usual = array_features(folder, classes);
  if (usual.empty()) usual = mat_features(folder, true);  // to say what they lack
  const auto all = all_features(folder, classes);
  const std::string& wanted = options.features.empty() && usual.size() == 1 ? usual.front() : options.features;
  if (wanted.empty() && usual.size() > 1)
    throw Error(BadInput{folder.string(), "features", "one features file", quoted_list(all),
                         "set " + option_name("features") + " to one of them"});
  if (wanted.empty()) {
    if (!options.require_features) return std::nullopt;
    throw Error(BadInput{folder.string(), "features", "a file <name>.mat with 'features' and 'labels'", "none",
                         "add it, e.g. res101.mat"});
  }
  if (const auto file = find_named(folder, wanted, kFeatureEndings)) return file;
  throw Error(BadInput{folder.string(), wanted, "a features file of that name: .mat, .npy, .npz or .csv",
                       "only " + quoted_list(all), "set " + option_name("features") + " to one of them"});
}

std::string attributes_field(const LoadOptions& options) { return options.original_att ? "original_att" : "att"; }

/// Where the file names no classes they are numbered, one for each column of attributes.
std::vector<std::string> read_class_names(MatFile& file, const LoadOptions& options, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  if (file.find("allclasses_names") != nullptr) {
    names = file.read_strings("allclasses_names");
  } else {
    const auto count = require_variable(file, attributes_field(options)).cols;
    for (std::uint64_t c = 1; c <= count; ++c) names.push_back(fmt::format("class_{}", c));
    notes.push_back(fmt::format("{} has no allclasses_names: the classes are named class_1 to class_{}",
                                fs::path(file.name()).filename().string(), count));
  }
  if (names.empty()) throw Error(BadInput{file.name(), "allclasses_names", "at least one class", "none", ""});
  require_printable(names, file.name(), "allclasses_names");
  return names;
}

Semantics read_semantics(MatFile& file, const LoadOptions& options, const std::string& name,
                         const std::vector<std::string>& class_names) {
  const std::string field = attributes_field(options);
  require_variable(file, field);
  Matrix<double> raw = file.read_columns_double(field);  // MATLAB m x C arrives as C x m
  if (raw.rows() != class_names.size() || raw.cols() == 0)
    throw Error(BadInput{file.name(), field,
                         fmt::format("attributes x {} classes, one per entry of allclasses_names", class_names.size()),
                         fmt::format("{} x {}", raw.cols(), raw.rows()), "one column per class"});
  mark_missing(raw.view());
  // A normalised `att` has scaled the -1 marks away; original_att still shows where they were.
  if (!options.original_att && file.find("original_att") != nullptr) {
    Matrix<double> original = file.read_columns_double("original_att");
    if (original.rows() == raw.rows() && original.cols() == raw.cols() && mark_missing(original.view()) > 0)
      for (std::size_t i = 0; i < raw.size(); ++i)
        if (std::isnan(original.data()[i])) raw.data()[i] = original.data()[i];
  }
  std::vector<std::string> attribute_names;
  if (file.find("attribute_names") != nullptr) attribute_names = file.read_strings("attribute_names");
  if (attribute_names.size() != raw.cols()) attribute_names.clear();
  require_printable(attribute_names, file.name(), "attribute_names");
  Semantics semantics =
      complete_semantics(raw.view(), options.missing, file.name(), field, class_names, attribute_names);
  semantics.name = name;
  return semantics;
}

/// A table after the first. Where its file names no classes, they are those of the data set.
ClassTable read_further_table(const fs::path& folder, const std::string& name, const LoadOptions& options,
                              Dataset& data) {
  const auto file = open_splits(folder, name);
  ClassTable table{file->name(), {}, {}};
  if (file->find("allclasses_names") != nullptr)
    table.class_names = file->read_strings("allclasses_names");
  else
    data.notes.push_back(
        fmt::format("{} has no allclasses_names: its classes are taken to be in the order of the first table",
                    fs::path(file->name()).filename().string()));
  table.semantics =
      read_semantics(*file, options, name, table.class_names.empty() ? data.class_names : table.class_names);
  return table;
}

/// The file of an item that is not NAME of NAME_splits.mat.
std::optional<fs::path> table_beside(const fs::path& folder, const std::string& item) {
  if (fs::exists(folder / splits_file(item))) return std::nullopt;
  if (auto file = find_table_file(folder, item)) return file;
  return find_one(folder, item, {".csv", ".npy", ".vec"});
}

/// The *_splits.mat that names the classes and has the split: the first that is asked for, or else the usual one.
std::string first_splits(const fs::path& folder, const std::vector<std::string>& items) {
  for (const auto& item : items)
    if (!table_beside(folder, item)) return item;
  const auto names = splits_names(folder);
  return names.empty() || std::ranges::count(names, kDefaultSemantics) > 0 ? kDefaultSemantics : names.front();
}

std::vector<std::int32_t> read_labels(MatFile& file, std::size_t classes) {
  require_variable(file, "labels");
  const auto values = file.read_columns_double("labels");
  const auto integers = to_integers(values.values(), file.name(), "labels");
  const std::int64_t base = std::ranges::count(integers, 0) > 0 ? 0 : 1;
  std::vector<std::int32_t> labels;
  labels.reserve(integers.size());
  for (const auto value : integers) {
    if (value < base || value - base >= static_cast<std::int64_t>(classes))
      throw Error(BadInput{file.name(), "labels",
                           fmt::format("classes from {} to {}", base, static_cast<std::int64_t>(classes) + base - 1),
                           std::to_string(value), "labels must match allclasses_names"});
    labels.push_back(static_cast<std::int32_t>(value - base));
  }
  return labels;
}

/// Labels and names of images, one per column of `features`.
void read_samples(MatFile& file, Dataset& data) {
  const MatVariable& features = require_variable(file, "features");
  data.labels = read_labels(file, data.classes());
  if (features.cols != data.samples() || features.rows == 0)
    throw Error(
        BadInput{file.name(), "features", fmt::format("dimensions x {} samples, one per label", data.samples()),
                 fmt::format("{} x {}", features.rows, features.cols),
                 features.rows == data.samples() ? "transpose it: samples are columns" : "one column per label"});
  if (file.find("image_files") == nullptr) return;
  data.image_files = file.read_strings("image_files");
  if (data.image_files.size() != data.samples())
    throw Error(BadInput{file.name(), "image_files", fmt::format("{} names, one per label", data.samples()),
                         std::to_string(data.image_files.size()), ""});
}

/// Of features in an array file: from labels.*, the .npz itself, or a .mat of the folder with as many samples. Returns
/// whether they are numbers, not names.
bool read_samples_beside(const fs::path& folder, const fs::path& features, Dataset& data) {
  const std::string name = features.filename().string();
  if (auto found = read_label_file(folder, features, data.class_names, LabelBase::any)) {
    data.labels = std::move(found->labels);
    data.image_files = read_image_files(folder, data.samples());
    if (found->base_assumed)
      data.notes.push_back(fmt::format("{} has neither label 0 nor label {}: its labels are taken to count from 0",
                                       found->file.filename().string(), data.classes()));
    return !found->by_name;
  }
  const std::size_t rows = count_feature_rows(features);
  for (const auto& other : mat_features(folder)) {
    const auto file = MatFile::open(folder / (other + ".mat"));
    if (const auto* matrix = file->find("features"); matrix == nullptr || matrix->cols != rows) continue;
    if (data.labels.empty()) {
      read_samples(*file, data);
      data.notes.push_back(
          fmt::format("{} has no labels: those of {}.mat, with as many samples, are used", name, other));
    } else if (read_labels(*file, data.classes()) != data.labels) {
      throw Error(BadInput{features.string(), "labels", "one file with labels of these samples",
                           fmt::format("different labels in .mat files with {} samples", rows),
                           "add labels.npy, or store the labels in an .npz beside the features"});
    }
  }
  if (data.labels.empty())
    throw Error(
        BadInput{features.string(), "labels",
                 fmt::format("labels.npy, .npz or .csv, or a .mat with features and labels of {} samples", rows),
                 "none", "add labels.npy, one label per sample"});
  return true;
}

/// Returns whether the labels are numbers of classes, not names.
bool read_samples_of(const fs::path& folder, const fs::path& path, const LoadOptions& options, Dataset& data,
                     ProgressObserver* progress) {
  data.features_file = path.string();
  if (path.extension() == ".mat") {
    const auto file = MatFile::open(path);
    data.features_name = path.stem().string();
    read_samples(*file, data);
    if (options.read_features)
      data.features = file->read_columns("features", progress, MatrixPlace::within(options.memory_limit));
    return true;
  }
  data.features_name = path.filename().string();
  const bool numbers = read_samples_beside(folder, path, data);
  read_features(options, data, progress);
  return numbers;
}

}  // namespace

Dataset load_xlsa17(const fs::path& folder, const LoadOptions& options, ProgressObserver* progress) {
  Dataset data;
  const auto items = split_table_names(options.semantics.empty() ? kDefaultSemantics : options.semantics);
  const std::string first = first_splits(folder, items);
  const auto splits = open_splits(folder, first);
  data.class_names = read_class_names(*splits, options, data.notes);
  std::vector<ClassTable> tables;
  for (const auto& item : items) {
    if (item == first)
      tables.push_back({splits->name(), {}, read_semantics(*splits, options, item, data.class_names)});
    else if (const auto file = table_beside(folder, item))
      tables.push_back(read_class_table(*file, table_name(*file, items.size()), options.missing, data, progress));
    else
      tables.push_back(read_further_table(folder, item, options, data));
  }
  data.semantics = join_tables(std::move(tables), data.class_names, splits->name());
  if (options.original_att) data.semantics.name += ":original_att";
  if (const auto features = choose_features(folder, options, data.classes()))
    if (read_samples_of(folder, *features, options, data, progress)) check_class_order(folder, first, data);

  if (!options.split.empty()) {
    data.split = read_split_file(options.split, folder, data, options.seed);
    return data;
  }
  data.split = read_mat_lists(*splits, data.samples());
  std::vector<std::int32_t> val_classes;
  if (data.split.file_train.empty() || data.split.file_val.empty())
    val_classes = read_class_list(folder / "valclasses1.txt", data.class_names);
  derive_validation(data.split, data.labels, val_classes, options.seed);
  return data;
}

}  // namespace parsnets
