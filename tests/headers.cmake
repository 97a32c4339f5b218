# Every public header compiles alone, without a precompiled header and without src/: CMake makes a source for each, which the
# targets NAME_verify_interface_header_sets compile. Those of the adapters are for ./dev test adapter_headers.

# coracle_verify_headers(NAME "FOLDER..." LIBRARY...): the headers below the folders. One that another one includes first compiles
# alone if that one does.
function(coracle_verify_headers name folders)
  set(verified "")
  set(included "")
  foreach(folder IN LISTS folders)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.hpp)
    list(FILTER headers EXCLUDE REGEX "/grpc\\+\\+/")  # each includes the one of grpcpp/ alone
    list(APPEND verified ${headers})
    foreach(header IN LISTS headers)
      file(STRINGS ${header} code REGEX "^[^/]" LIMIT_COUNT 2)
      if(code MATCHES "^#pragma once;#include [<\"]([^>\"]+)")
        list(APPEND included ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endforeach()
  foreach(folder IN LISTS folders)
    list(TRANSFORM included PREPEND ${folder}/ OUTPUT_VARIABLE headers)
    list(REMOVE_ITEM verified ${headers})
  endforeach()
  add_library(${name} INTERFACE)
  target_sources(${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${folders} FILES ${verified})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_link_libraries(${name} INTERFACE ${ARGN})
  target_compile_options(${name} INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
endfunction()

coracle_verify_headers(public_headers ${PROJECT_SOURCE_DIR}/include coracle_usage protobuf::libprotobuf)
target_compile_options(public_headers INTERFACE -Wconversion)

# All of them in one source, after what they include of others and after the macros of support/macros_of_others.hpp.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp)
set(others "")
foreach(header IN LISTS headers)
  file(STRINGS ${PROJECT_SOURCE_DIR}/include/${header} included REGEX "^#include <")
  list(APPEND others ${included})
endforeach()
list(REMOVE_DUPLICATES others)
list(TRANSFORM others REPLACE "#include (<.+>)" "#if __has_include(\\1)\n#include \\1\n#endif")  # <format> is newer than g++ 12
list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>")
list(JOIN others "\n" others)
list(JOIN headers "\n" headers)
file(CONFIGURE OUTPUT macros/every_header.hpp CONTENT
  "#pragma once\n${others}\n#include \"support/macros_of_others.hpp\"\n${headers}\n#include <coracle.h>\n")
coracle_verify_headers(macro_headers ${CMAKE_CURRENT_BINARY_DIR}/macros coracle_usage protobuf::libprotobuf GTest::gmock)
target_include_directories(macro_headers INTERFACE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/adapters/c/include)
