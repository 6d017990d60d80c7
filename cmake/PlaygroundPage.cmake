# The playground page: web/playground and what it shares with the report, joined into one page, style sheet and script.
#
#   include(cmake/PlaygroundPage.cmake)
#   parsnets_playground_page(target)   adds <build>/generated/playground_files.cpp to the target: it defines what
#                                      src/serve/playground_files.hpp declares
#
# The page without a server, of `parsnets page`, is the same but for offline.js in the place of server.js, and with
# photo_reader.js and the npm package's module in front.
#
# The files alone, without configuring a build:
#   cmake -DOUTPUT=<folder> -P cmake/PlaygroundPage.cmake   writes playground.html, .css, .js and playground_files.cpp

set(PARSNETS_PLAYGROUND_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
set(PARSNETS_PLAYGROUND_HTML playground/playground.html)
set(PARSNETS_PLAYGROUND_CSS lib/base.css playground/playground.css)
# In the order they run.
set(PARSNETS_PLAYGROUND_JS
  lib/format.js lib/dom.js lib/theme.js
  playground/server.js playground/names.js playground/bank.js playground/pictures.js playground/live.js playground/grid.js
  playground/result.js playground/evidence.js playground/classes.js playground/editor.js playground/photos.js
  playground/suggest.js playground/history.js playground/page.js)
set(PARSNETS_OFFLINE_JS ${PARSNETS_PLAYGROUND_JS})
list(TRANSFORM PARSNETS_OFFLINE_JS REPLACE "playground/server.js" "playground/offline.js")
list(PREPEND PARSNETS_OFFLINE_JS playground/photo_reader.js)
list(PREPEND PARSNETS_OFFLINE_JS ../npm/index.js)
foreach(part PLAYGROUND_HTML PLAYGROUND_CSS PLAYGROUND_JS OFFLINE_JS)
  list(TRANSFORM PARSNETS_${part} PREPEND ${CMAKE_CURRENT_LIST_DIR}/../web/)
endforeach()
set(PARSNETS_OPENAPI ${CMAKE_CURRENT_LIST_DIR}/../docs/openapi.json)
set(PARSNETS_WASM ${CMAKE_CURRENT_LIST_DIR}/../npm/parsnets.wasm ${CMAKE_CURRENT_LIST_DIR}/../npm/parsnets-simd.wasm)

# Writes <folder>/<name>.<ending>, the files one after the other, and appends to playground_files.cpp the function
# <name>_<ending>() that returns it.
function(parsnets_write_page_part folder name ending before)
  set(text "${before}")
  foreach(path IN LISTS ARGN)
    file(READ ${path} part)
    string(APPEND text "${part}\n")
  endforeach()
  file(WRITE ${folder}/${name}.${ending} "${text}")
  file(APPEND ${folder}/playground_files.cpp
    "std::string_view ${name}_${ending}() {\n"
    "  static constexpr char kText[] = R\"parsnets_page(${text})parsnets_page\";\n"
    "  return {kText, sizeof kText - 1};\n}\n\n")
endfunction()

# Appends a function that returns a file's bytes.
function(parsnets_write_bytes folder name path)
  file(READ ${path} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  file(APPEND ${folder}/playground_files.cpp
    "std::string_view ${name}() {\n  static constexpr char kBytes[] = {${bytes}};\n"
    "  return {kBytes, sizeof kBytes};\n}\n\n")
endfunction()

# The playground's page with style, script and places for the data in one file.
function(parsnets_write_offline_page folder)
  file(READ ${PARSNETS_PLAYGROUND_HTML} page)
  file(READ ${folder}/playground.css style)
  set(script "")
  foreach(path IN LISTS PARSNETS_OFFLINE_JS)
    file(READ ${path} part)
    string(APPEND script "${part}\n")
  endforeach()
  # That of the report, and WebAssembly.
  set(policy "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:")
  string(REPLACE "<meta charset=\"utf-8\">"
    "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"${policy}\">" page "${page}")
  string(REPLACE "<link rel=\"stylesheet\" href=\"playground.css\">" "<style>\n${style}</style>" page "${page}")
  string(REPLACE "<script src=\"playground.js\" defer></script>\n" "" page "${page}")
  string(REPLACE "</body>" "<script type=\"application/json\" id=\"page-data\">@PAGE_DATA@</script>
<script type=\"module\">\n${script}</script>\n</body>" page "${page}")
  file(WRITE ${folder}/offline_page.html "${page}")
endfunction()

function(parsnets_write_playground folder)
  file(WRITE ${folder}/playground_files.cpp
    "// Made from web/playground by cmake/PlaygroundPage.cmake.\n#include \"serve/playground_files.hpp\"\n\n"
    "namespace parsnets {\n\n")
  parsnets_write_page_part(${folder} playground html "" ${PARSNETS_PLAYGROUND_HTML})
  parsnets_write_page_part(${folder} playground css "" ${PARSNETS_PLAYGROUND_CSS})
  parsnets_write_page_part(${folder} playground js "\"use strict\";\n" ${PARSNETS_PLAYGROUND_JS})
  parsnets_write_page_part(${folder} openapi json "" ${PARSNETS_OPENAPI})
  parsnets_write_offline_page(${folder})
  parsnets_write_page_part(${folder} offline html "" ${folder}/offline_page.html)
  foreach(file IN LISTS PARSNETS_WASM)
    get_filename_component(name ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER "${name}_wasm" name)  # parsnets_wasm, parsnets_simd_wasm
    parsnets_write_bytes(${folder} ${name} ${file})
  endforeach()
  file(APPEND ${folder}/playground_files.cpp "}  // namespace parsnets\n")
endfunction()

function(parsnets_playground_page target)
  set(folder ${CMAKE_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${folder}/playground_files.cpp
    BYPRODUCTS ${folder}/playground.html ${folder}/playground.css ${folder}/playground.js
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${folder} -P ${PARSNETS_PLAYGROUND_SCRIPT}
    DEPENDS ${PARSNETS_PLAYGROUND_SCRIPT} ${PARSNETS_PLAYGROUND_HTML} ${PARSNETS_PLAYGROUND_CSS} ${PARSNETS_PLAYGROUND_JS}
            ${PARSNETS_OFFLINE_JS} ${PARSNETS_WASM} ${PARSNETS_OPENAPI}
    COMMENT "Joining the playground page" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/playground_files.cpp)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  parsnets_write_playground(${OUTPUT})
endif()
