# header_selfcheck: every public header compiles alone, without a precompiled header and without src/.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/coracle/*.hpp)
set(sources)
foreach(header IN LISTS headers)
  string(REPLACE / - stem "${header}")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.cpp)
  # Included twice, so that a missing guard shows.
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\" // again\n" @ONLY)
  list(APPEND sources ${source})
endforeach()

if(sources)
  add_library(header_selfcheck OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(header_selfcheck PRIVATE coracle_usage protobuf::libprotobuf)
  target_compile_options(header_selfcheck PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
endif()
