# The playground page: web/playground and what it shares with the report, joined into one page, style sheet and script.
#
#   include(cmake/PlaygroundPage.cmake)
#   parsnets_playground_page(target)   adds <build>/generated/playground_files.cpp to the target: it defines what
#                                      src/serve/playground_files.hpp declares
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
  playground/history.js playground/page.js)
foreach(part HTML CSS JS)
  list(TRANSFORM PARSNETS_PLAYGROUND_${part} PREPEND ${CMAKE_CURRENT_LIST_DIR}/../web/)
endforeach()

# Writes <folder>/playground.<ending>, the files one after the other, and appends to playground_files.cpp the function
# that returns it.
function(parsnets_write_playground_part folder ending before)
  set(text "${before}")
  foreach(path IN LISTS ARGN)
    file(READ ${path} part)
    string(APPEND text "${part}\n")
  endforeach()
  file(WRITE ${folder}/playground.${ending} "${text}")
  file(APPEND ${folder}/playground_files.cpp
    "std::string_view playground_${ending}() {\n"
    "  static constexpr char kText[] = R\"parsnets_page(${text})parsnets_page\";\n"
    "  return {kText, sizeof kText - 1};\n}\n\n")
endfunction()

function(parsnets_write_playground folder)
  file(WRITE ${folder}/playground_files.cpp
    "// Made from web/playground by cmake/PlaygroundPage.cmake.\n#include \"serve/playground_files.hpp\"\n\n"
    "namespace parsnets {\n\n")
  parsnets_write_playground_part(${folder} html "" ${PARSNETS_PLAYGROUND_HTML})
  parsnets_write_playground_part(${folder} css "" ${PARSNETS_PLAYGROUND_CSS})
  parsnets_write_playground_part(${folder} js "\"use strict\";\n" ${PARSNETS_PLAYGROUND_JS})
  file(APPEND ${folder}/playground_files.cpp "}  // namespace parsnets\n")
endfunction()

function(parsnets_playground_page target)
  set(folder ${CMAKE_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${folder}/playground_files.cpp
    BYPRODUCTS ${folder}/playground.html ${folder}/playground.css ${folder}/playground.js
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${folder} -P ${PARSNETS_PLAYGROUND_SCRIPT}
    DEPENDS ${PARSNETS_PLAYGROUND_SCRIPT} ${PARSNETS_PLAYGROUND_HTML} ${PARSNETS_PLAYGROUND_CSS} ${PARSNETS_PLAYGROUND_JS}
    COMMENT "Joining the playground page" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/playground_files.cpp)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  parsnets_write_playground(${OUTPUT})
endif()
