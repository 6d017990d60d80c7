#pragma once
// The features of a plain folder, some samples at a time.

#include <memory>

#include "formats/npy.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// A reader of data.features_file, or nothing for files that must be loaded whole: .csv, .mat, Fortran order. Throws
/// bad_input unless there is one row per label.
std::unique_ptr<NpyRowReader> open_feature_rows(const Dataset& data);

}  // namespace parsnets
