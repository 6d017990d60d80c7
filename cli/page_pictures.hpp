#pragma once
// The figures of a report page as files, drawn by an installed Chromium.

#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// The value of --pictures, such as "png,svg": each format once; none for "". png: with title and sentence, as on the
/// page; svg: the chart alone; pdf: the same on a page of its size. Throws usage for others.
std::vector<std::string> parse_picture_formats(const std::string& text);

/// The Chromium that would draw. Throws bad_input when none is installed.
std::string find_browser();

/// Writes FIGURE.FORMAT, for pages of several data sets DATA-FIGURE.FORMAT, of the runs that the page shows first.
/// Throws bad_input when no Chromium is installed, failure when it does not draw. Returns the files written.
std::vector<std::filesystem::path> write_page_pictures(const std::filesystem::path& page,
                                                       const std::filesystem::path& folder,
                                                       const std::vector<std::string>& formats,
                                                       ProgressObserver* progress);

}  // namespace parsnets::cli
