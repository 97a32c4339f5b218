# The pages of the report and of a comparison, and Debian's Chart.js, as bytes in the program. Read by tools/CMakeLists.txt.

find_file(CORACLE_CHART_JS NAMES chart.min.js Chart.min.js chart.umd.js
  PATHS /usr/share/javascript/chart.js /usr/share/javascript/chart.js/dist NO_DEFAULT_PATH)
mark_as_advanced(CORACLE_CHART_JS)
if(NOT CORACLE_CHART_JS)
  message(FATAL_ERROR "coracle load draws its reports with Chart.js, which is not here: install libjs-chart.js, "
    "or set CORACLE_CHART_JS to a chart.min.js of version 3 or 4 (or leave the program out: -DCORACLE_BUILD_TOOLS=OFF)")
endif()

set(page ${CMAKE_CURRENT_LIST_DIR}/page)
set(out ${CMAKE_CURRENT_BINARY_DIR}/load_report)
file(MAKE_DIRECTORY ${out})
foreach(piece IN ITEMS report_html=${page}/report.html report_js=${page}/report.js compare_html=${page}/compare.html compare_js=${page}/compare.js
    style=${page}/report.css drawing=${page}/drawing.js chart=${CORACLE_CHART_JS})
  string(REGEX MATCH "^([a-z_]+)=(.*)$" _ ${piece})
  set(name ${CMAKE_MATCH_1})
  set(from ${CMAKE_MATCH_2})
  add_custom_command(OUTPUT ${out}/${name}.inc
    COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DTO=${out}/${name}.inc -P ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
    DEPENDS ${from} ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
    COMMENT "Embedding ${from}"
    VERBATIM)
  target_sources(coracle_program PRIVATE ${out}/${name}.inc)
endforeach()
target_include_directories(coracle_program PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
