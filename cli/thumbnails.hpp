#pragma once
// Photographs of the samples for the report: thumbnails.jpg or .png in a data set folder, one grid in sample order.

#include <filesystem>

#include "parsnets/report.hpp"

namespace parsnets::cli {

/// None when there is no such file. Squares fill the picture row by row without gaps; their size is the largest that holds
/// all samples. Throws bad_input for a file that is no JPEG or PNG, or has no room for the samples.
Thumbnails read_thumbnails(const std::filesystem::path& folder, std::size_t samples);

}  // namespace parsnets::cli
