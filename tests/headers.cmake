# Every public header compiles alone, without a precompiled header and without src/: CMake makes a source for each, which the
# target all_verify_interface_header_sets compiles.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/coracle/*.hpp)
add_library(public_headers INTERFACE)
target_sources(public_headers INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
set_target_properties(public_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
target_link_libraries(public_headers INTERFACE coracle_usage protobuf::libprotobuf)
target_compile_options(public_headers INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
