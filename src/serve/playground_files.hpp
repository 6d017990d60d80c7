#pragma once
// The playground page and the description of the server, made from web/playground and docs/openapi.json by
// cmake/PlaygroundPage.cmake. Thread-safe; the text lives forever.

#include <string_view>

namespace parsnets {

/// The page at /.
std::string_view playground_html();
/// /playground.css.
std::string_view playground_css();
/// /playground.js.
std::string_view playground_js();
/// /openapi.json.
std::string_view openapi_json();
/// The playground without a server, as one page: with JSON for offline.js in the place of @PAGE_DATA@.
std::string_view offline_html();
/// The device runtime as WebAssembly, plain and with SIMD128.
std::string_view parsnets_wasm();
std::string_view parsnets_simd_wasm();

}  // namespace parsnets
