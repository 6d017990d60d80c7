#include "data/feature_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/folder.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

namespace fs = std::filesystem;

NpyLocation array_of(const fs::path& file) {
  return file.extension() == ".npz" ? npz_member(file, "features") : NpyLocation{file, ""};
}

}  // namespace

NpyLocation npz_member(const fs::path& file, const std::string& wanted) {
  const auto members = npz_members(file);
  if (std::find(members.begin(), members.end(), wanted) != members.end()) return {file, wanted};
  if (members.size() == 1) return {file, members.front()};
  throw Error(BadInput{file.string(), wanted, "a member of that name", quoted_list(members),
                       "save it as np.savez(..., " + wanted + "=x)"});
}

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

void check_feature_rows(const fs::path& file, std::size_t rows, std::size_t cols, const Dataset& data) {
  if (rows == data.samples()) return;
  throw Error(BadInput{file.string(), "features", fmt::format("{} samples, one per label", data.samples()),
                       fmt::format("{} x {}", rows, cols), "one row per sample"});
}

}  // namespace parsnets
