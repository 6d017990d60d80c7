#include "formats/array_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "data/feature_source.hpp"
#include "data/semantics.hpp"
#include "formats/npy.hpp"
#include "paths.hpp"

namespace parsnets::test {

namespace {

template <class T>
void write_array(const std::filesystem::path& path, const char* type, const std::vector<std::uint64_t>& shape,
                 const T* values, std::size_t count) {
  write_text_file(path, npy_header_text(fmt::format("{}{}", kNativeOrder, type), shape) +
                            std::string(reinterpret_cast<const char*>(values), count * sizeof(T)));
}

void write(const std::string& kind, const std::string& files_and_parts) {
  const std::string line =
      "/usr/bin/python3 '" PARSNETS_SOURCE_DIR "/tests/oracles/array_files.py' " + kind + files_and_parts;
  EXPECT_EQ(std::system(line.c_str()), 0) << "it needs python3-numpy, python3-scipy and python3-h5py";
}

std::string arguments(const std::filesystem::path& file, const ArrayFile& arrays) {
  return fmt::format(" '{}' '{}'", file.string(), arrays.parts().path().string());
}

const char* name_of(MatVersion version) {
  return version == MatVersion::v5 ? "v5" : version == MatVersion::v73 ? "v73" : "v5_uncompressed";
}

/// Counted from 1. A row-major 1 x n matrix is MATLAB's n x 1.
Matrix<double> column(const std::vector<std::int32_t>& indices) {
  Matrix<double> values(1, indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) values(0, i) = indices[i] + 1;
  return values;
}

void add_lists(ArrayFile& file, const Split& split) {
  file.add("trainval_loc", column(split.trainval).view());
  if (!split.test_seen.empty()) file.add("test_seen_loc", column(split.test_seen).view());
  file.add("test_unseen_loc", column(split.test_unseen).view());
  if (split.validation_drawn || split.train.empty() || split.val.empty()) return;
  file.add("train_loc", column(split.train).view());
  file.add("val_loc", column(split.val).view());
}

}  // namespace

std::string ArrayFile::part(const std::string& name, const char* ending) {
  return (parts_ / fmt::format("{:02}.{}{}", count_++, name, ending)).string();
}

ArrayFile& ArrayFile::add(const std::string& name, MatrixView<const float> values) {
  write_array(part(name, ".npy"), "f4", {values.rows(), values.cols()}, values.data(), values.size());
  return *this;
}

ArrayFile& ArrayFile::add(const std::string& name, MatrixView<const double> values) {
  write_array(part(name, ".npy"), "f8", {values.rows(), values.cols()}, values.data(), values.size());
  return *this;
}

ArrayFile& ArrayFile::add(const std::string& name, const std::vector<std::int32_t>& values) {
  write_array(part(name, ".npy"), "i4", {values.size()}, values.data(), values.size());
  return *this;
}

ArrayFile& ArrayFile::add(const std::string& name, const std::vector<std::string>& values) {
  write_text_file(part(name, ".json"), nlohmann::json(values).dump());
  return *this;
}

void ArrayFile::write_mat(const std::filesystem::path& path, MatVersion version) const {
  write(name_of(version), arguments(path, *this));
}

void ArrayFile::write_npz(const std::filesystem::path& path, bool compressed) const {
  write(compressed ? "npz" : "npz_stored", arguments(path, *this));
}

void save_xlsa17(const Dataset& data, const std::filesystem::path& folder, MatVersion version) {
  std::filesystem::create_directories(folder);
  std::list<ArrayFile> files;
  std::string places;
  if (data.features.rows() > 0) {
    ArrayFile& features = files.emplace_back();
    features.add("features", data.features.view()).add("labels", column(data.labels).view());
    if (!data.image_files.empty()) features.add("image_files", data.image_files);
    const std::string stem = std::filesystem::path(data.features_name).stem().string();
    places += arguments(folder / ((stem.empty() ? "features" : stem) + ".mat"), features);
  }
  for (std::size_t t = 0; t < std::max<std::size_t>(1, data.semantics.tables.size()); ++t) {
    const Semantics table = table_of(data.semantics, t);
    Matrix<double> att(table.values.rows(), table.values.cols());
    std::ranges::copy(table.values.values(), att.data());
    ArrayFile& splits = files.emplace_back();
    splits.add("att", att.view()).add("allclasses_names", data.class_names);
    if (!table.attribute_names.empty()) splits.add("attribute_names", table.attribute_names);
    add_lists(splits, data.split);
    const std::string stem = data.semantics.tables.empty() ? "att" : table.name;
    places += arguments(folder / (stem + "_splits.mat"), splits);
  }
  write(name_of(version), places);
  if (data.generated) write_text_file(folder / "generated.json", "{}");
  if (data.source) write_text_file(folder / kExtractionFile, to_json(*data.source).dump());
}

void save_as(const Dataset& data, const std::filesystem::path& folder, const std::string& format) {
  if (format.starts_with("mat"))
    return save_xlsa17(data, folder,
                       format == "mat73"  ? MatVersion::v73
                       : format == "mat5" ? MatVersion::v5
                                          : MatVersion::v5_uncompressed);
  save_dataset(data, folder, format == "csv" ? DataFormat::csv : DataFormat::npy);
  if (format != "npz") return;
  std::filesystem::remove(folder / "features.npy");
  ArrayFile().add("features", data.features.view()).write_npz(folder / "features.npz");
}

}  // namespace parsnets::test
