#pragma once
// Features given on the command line as a file of their own.

#include <filesystem>
#include <string>

#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

/// n x d from a .npy (mapped where it can be) or .csv file.
inline Matrix<float> read_feature_input(const std::filesystem::path& file, ProgressObserver* progress) {
  if (file.extension() == ".csv") return read_csv_float(file, progress);
  if (file.extension() == ".npy") return read_npy_float({file, ""}, progress);
  throw Error(BadInput{file.string(), "", "a .npy or .csv file", "'" + file.extension().string() + "'",
                       "convert it, e.g. with numpy.save"});
}

/// A name as a cell of a CSV line.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace parsnets::cli
