#pragma once
// Features in .npy, .npz and .csv files: whole, or some samples at a time.

#include <filesystem>
#include <memory>
#include <string>

#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// Which member of an .npz holds `wanted`: that name, or the only member there is. Throws bad_input without it.
NpyLocation npz_member(const std::filesystem::path& file, const std::string& wanted);

/// N x d.
Matrix<float> read_feature_file(const std::filesystem::path& file, ProgressObserver* progress,
                                const MatrixPlace& place = {});

/// N; reads the lines of a .csv.
std::size_t count_feature_rows(const std::filesystem::path& file);

/// A reader of data.features_file, or nothing for files that must be loaded whole: .csv, .mat, Fortran order. Throws
/// bad_input unless there is one row per label.
std::unique_ptr<NpyRowReader> open_feature_rows(const Dataset& data);

/// Throws bad_input unless `rows` x `cols` of `file` has one row per label of `data`.
void check_feature_rows(const std::filesystem::path& file, std::size_t rows, std::size_t cols, const Dataset& data);

}  // namespace parsnets
