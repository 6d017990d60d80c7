// The report page as text: HTML with D3, styles and scripts inside and one placeholder, @REPORT_DATA@, for the JSON.
// The definition is made from web/ by cmake/ReportPage.cmake.
#pragma once

#include <string_view>

namespace parsnets {

/// The whole page; lives as long as the program. Escape `<` as \u003c in the JSON put in place of @REPORT_DATA@.
std::string_view report_page();

}  // namespace parsnets
