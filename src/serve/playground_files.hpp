#pragma once
// The playground page, made from web/playground by cmake/PlaygroundPage.cmake. Thread-safe; the text lives forever.

#include <string_view>

namespace parsnets {

/// The page at /.
std::string_view playground_html();
/// /playground.css.
std::string_view playground_css();
/// /playground.js.
std::string_view playground_js();

}  // namespace parsnets
