#include "data/sample_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

/// The member of that name, or the only one there is.
NpyLocation npz_member(const fs::path& file, const std::string& wanted) {
  const auto members = npz_members(file);
  if (std::ranges::count(members, wanted) > 0) return {file, wanted};
  if (members.size() == 1) return {file, members.front()};
  throw Error(BadInput{file.string(), wanted, "a member of that name", quoted_list(members),
                       "save it as np.savez(..., " + wanted + "=x)"});
}

NpyLocation array_of(const fs::path& file) {
  return file.extension() == ".npz" ? npz_member(file, "features") : NpyLocation{file, ""};
}

void check_feature_rows(const fs::path& file, std::size_t rows, std::size_t cols, const Dataset& data) {
  if (rows == data.samples()) return;
  throw Error(BadInput{file.string(), "features", fmt::format("{} samples, one per label", data.samples()),
                       fmt::format("{} x {}", rows, cols), "one row per sample"});
}

/// `name(i)`: of the class of sample i.
template <class Name>
std::vector<std::int32_t> labels_of_names(std::size_t count, const Name& name, const std::string& file,
                                          const std::vector<std::string>& class_names) {
  const auto places = places_by_name(class_names);
  std::vector<std::int32_t> labels;
  labels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = places.find(name(i));
    if (found == places.end())
      throw Error(BadInput{file, fmt::format("label of sample {}", i), "a class of the data set", in_quotes(name(i)),
                           "the classes are " + quoted_list(class_names)});
    labels.push_back(static_cast<std::int32_t>(found->second));
  }
  return labels;
}

/// `value(i)`: the label of sample i as a number.
template <class Value>
FileLabels labels_of_numbers(std::size_t samples, const Value& value, const fs::path& path, const std::string& file,
                             std::size_t classes, LabelBase base) {
  const auto count = static_cast<std::int64_t>(classes);
  bool has_zero = false, has_count = false;
  const auto integer = [&](std::size_t i) { return to_integer(value(i), file, "labels", i); };
  for (std::size_t i = 0; i < samples; ++i) {
    const std::int64_t label = integer(i);
    has_zero = has_zero || label == 0;
    has_count = has_count || label == count;
  }
  const std::int64_t first = base == LabelBase::any && has_count && !has_zero ? 1 : 0;
  FileLabels out{path, {}, false, base == LabelBase::any && !has_zero && !has_count};
  out.labels.reserve(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::int64_t label = integer(i);
    if (label < first || label - first >= count)
      throw Error(BadInput{file, "labels", fmt::format("0-based classes from 0 to {}", count - 1),
                           std::to_string(label), "labels are numbers of classes, from 0, or class names"});
    out.labels.push_back(static_cast<std::int32_t>(label - first));
  }
  return out;
}

FileLabels labels_of_npy(const NpyLocation& where, const std::vector<std::string>& class_names, LabelBase base) {
  const std::string file = where.file.string() + (where.member.empty() ? "" : ", member " + where.member);
  if (read_npy_header(where).is_text) {
    const auto names = read_npy_strings(where);
    const auto name = [&](std::size_t i) { return std::string_view(names[i]); };
    return {where.file, labels_of_names(names.size(), name, file, class_names), true, false};
  }
  const Matrix<double> values = read_npy_double(where);
  if (values.rows() != 1 && values.cols() != 1)
    throw Error(BadInput{file, "labels", "one label per sample",
                         fmt::format("{} x {} values", values.rows(), values.cols()), ""});
  const auto value = [&](std::size_t i) { return values.values()[i]; };
  return labels_of_numbers(values.size(), value, where.file, file, class_names.size(), base);
}

FileLabels labels_of_csv(const fs::path& file, const std::vector<std::string>& class_names, LabelBase base) {
  const CsvCells table = read_csv(file, false);
  if (table.cols() != 1)
    throw Error(BadInput{file.string(), "labels", "one column", fmt::format("{} columns", table.cols()), ""});
  // A first line that is neither a number nor a class is a header.
  double value = 0;
  const bool header = !parse_number(table.cell(0, 0), value) && std::ranges::count(class_names, table.cell(0, 0)) == 0;
  const std::size_t count = table.rows() - (header ? 1 : 0);
  const auto name = [&](std::size_t i) { return table.cell(i + (header ? 1 : 0), 0); };
  const auto number = [&](std::size_t i) { return parse_number(name(i), value) ? value : std::nan(""); };
  std::size_t numbers = 0;
  while (numbers < count && parse_number(name(numbers), value)) ++numbers;
  if (numbers == count) return labels_of_numbers(count, number, file, file.string(), class_names.size(), base);
  return {file, labels_of_names(count, name, file.string(), class_names), true, false};
}

}  // namespace

Matrix<float> read_feature_file(const fs::path& file, ProgressObserver* progress, const MatrixPlace& place) {
  return file.extension() == ".csv" ? read_csv_float(file, progress, place)
                                    : read_npy_float(array_of(file), progress, place);
}

std::size_t count_feature_rows(const fs::path& file) {
  if (file.extension() == ".csv") return count_csv_rows(file);
  return NpyRowReader(array_of(file)).rows();
}

std::unique_ptr<NpyRowReader> open_feature_rows(const Dataset& data) {
  const fs::path file = data.features_file;
  if (file.extension() != ".npy" && file.extension() != ".npz") return nullptr;
  auto rows = std::make_unique<NpyRowReader>(array_of(file));
  if (!rows->row_by_row()) return nullptr;
  check_feature_rows(file, rows->rows(), rows->cols(), data);
  return rows;
}

void read_features(const LoadOptions& options, Dataset& data, ProgressObserver* progress) {
  if (!options.read_features) return;
  data.features = read_feature_file(data.features_file, progress, MatrixPlace::within(options.memory_limit));
  check_feature_rows(data.features_file, data.features.rows(), data.features.cols(), data);
}

std::optional<FileLabels> read_label_file(const fs::path& folder, const fs::path& features,
                                          const std::vector<std::string>& class_names, LabelBase base) {
  const auto file = find_one(folder, "labels", kSampleEndings);
  if (!file && features.extension() == ".npz") {
    const auto members = npz_members(features);
    if (std::ranges::count(members, "labels") > 0) return labels_of_npy({features, "labels"}, class_names, base);
  }
  if (!file) return std::nullopt;
  if (file->extension() == ".csv") return labels_of_csv(*file, class_names, base);
  return labels_of_npy(file->extension() == ".npz" ? npz_member(*file, "labels") : NpyLocation{*file, ""}, class_names,
                       base);
}

std::vector<std::string> read_image_files(const fs::path& folder, std::size_t samples) {
  std::vector<std::string> names;
  const fs::path file = folder / "image_files.csv";
  if (!fs::exists(file)) return names;
  const CsvCells table = read_csv(file, true);
  if (table.rows() != 0 && table.rows() != samples)
    throw Error(
        BadInput{file.string(), "", fmt::format("{} names, one per label", samples), std::to_string(table.rows()), ""});
  for (std::size_t r = 0; r < table.rows(); ++r) names.emplace_back(table.cell(r, 0));
  return names;
}

}  // namespace parsnets
