#pragma once
// The figures of a report page as PNG files, drawn by an installed Chromium.

#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// The Chromium that would draw. Throws bad_input when none is installed.
std::string find_browser();

/// Throws bad_input when no Chromium is installed, failure when it does not draw. Returns the files written.
std::vector<std::filesystem::path> write_page_pictures(const std::filesystem::path& page,
                                                       const std::filesystem::path& folder, ProgressObserver* progress);

}  // namespace parsnets::cli
