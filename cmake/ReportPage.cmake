# The report page: web/ and D3 joined into one HTML file, and that file as C++.
#
#   include(cmake/ReportPage.cmake)
#   parsnets_report_page(target)   adds <build>/generated/report_page.cpp to the target: it defines
#                                  `std::string_view parsnets::report_page()`, declared in src/report/page.hpp
#
# The page alone, without configuring a build:
#   cmake -DOUTPUT=<folder> -P cmake/ReportPage.cmake   writes <folder>/report_page.html and report_page.cpp
#
# D3 is found as the package node-d3 installs it; PARSNETS_D3 names another d3.min.js.

set(PARSNETS_WEB_DIR ${CMAKE_CURRENT_LIST_DIR}/../web)
set(PARSNETS_REPORT_PAGE_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
# In the order they run.
set(PARSNETS_REPORT_SCRIPTS
  lib/format.js lib/dom.js lib/theme.js lib/palette.js lib/photos.js lib/tooltip.js lib/download.js lib/figure.js lib/chart.js
  figures/tradeoff.js figures/class_strip.js figures/per_class.js figures/confusion.js
  figures/reliability.js figures/prediction_sets.js
  figures/sweep.js figures/ablation.js figures/gates.js
  figures/transductive.js figures/class_moves.js figures/few_shot.js
  figures/open_set.js figures/open_set_scores.js figures/no_class.js
  figures/spectrum.js figures/angles.js figures/places.js figures/tsne.js figures/subspaces.js figures/hubness.js
  figures/training.js figures/attributes.js figures/explanations.js
  results.js overview.js provenance.js part.js page.js only.js start.js)
list(TRANSFORM PARSNETS_REPORT_SCRIPTS PREPEND ${PARSNETS_WEB_DIR}/)

function(parsnets_find_d3)
  find_file(PARSNETS_D3 d3.min.js NO_CMAKE_FIND_ROOT_PATH
    PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3 /usr/lib/nodejs/d3/dist
    DOC "D3 5, minified (Debian: node-d3)")
  if(NOT PARSNETS_D3)
    message(FATAL_ERROR "d3.min.js is missing: install the package node-d3, or pass -DPARSNETS_D3=<path to d3.min.js>")
  endif()
endfunction()

function(parsnets_write_report_page folder)
  file(READ ${PARSNETS_WEB_DIR}/report.html page)
  file(READ ${PARSNETS_WEB_DIR}/lib/base.css style)
  file(READ ${PARSNETS_WEB_DIR}/report.css own_style)
  string(APPEND style "\n${own_style}")
  file(READ ${PARSNETS_D3} d3)
  set(script "")
  foreach(path IN LISTS PARSNETS_REPORT_SCRIPTS)
    file(READ ${path} text)
    string(APPEND script "${text}\n")
  endforeach()
  string(REPLACE "@STYLE@" "${style}" page "${page}")
  string(REPLACE "@D3@" "${d3}" page "${page}")
  string(REPLACE "@SCRIPT@" "${script}" page "${page}")
  file(WRITE ${folder}/report_page.html "${page}")
  file(WRITE ${folder}/report_page.cpp
    "// Made from web/ by cmake/ReportPage.cmake.\n#include <string_view>\n\n#include \"report/page.hpp\"\n\n"
    "namespace parsnets {\n\nstd::string_view report_page() {\n"
    "  static constexpr char kPage[] = R\"parsnets_page(${page})parsnets_page\";\n"
    "  return {kPage, sizeof kPage - 1};\n}\n\n}  // namespace parsnets\n")
endfunction()

function(parsnets_report_page target)
  parsnets_find_d3()
  set(folder ${CMAKE_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${folder}/report_page.cpp BYPRODUCTS ${folder}/report_page.html
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${folder} -DPARSNETS_D3=${PARSNETS_D3} -P ${PARSNETS_REPORT_PAGE_SCRIPT}
    DEPENDS ${PARSNETS_REPORT_PAGE_SCRIPT} ${PARSNETS_WEB_DIR}/report.html ${PARSNETS_WEB_DIR}/lib/base.css
            ${PARSNETS_WEB_DIR}/report.css ${PARSNETS_REPORT_SCRIPTS} ${PARSNETS_D3}
    COMMENT "Joining the report page" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/report_page.cpp)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  parsnets_find_d3()
  parsnets_write_report_page(${OUTPUT})
endif()
