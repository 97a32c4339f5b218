# The files of the console's page, and the descriptors of google.rpc's error details, as bytes in the library.

set(page ${CMAKE_CURRENT_LIST_DIR}/page)
set(out ${CMAKE_CURRENT_BINARY_DIR}/console/assets)
file(MAKE_DIRECTORY ${out})

_coracle_choose_protoc()
set(details google/rpc/error_details.proto)
add_custom_command(OUTPUT ${out}/error_details.bin
  COMMAND ${protoc} -I${PROJECT_SOURCE_DIR}/proto --include_imports --descriptor_set_out=${out}/error_details.bin ${details}
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/${details} ${programs}
  COMMENT "Describing ${details}"
  VERBATIM)

file(GLOB assets CONFIGURE_DEPENDS ${page}/*)
foreach(from IN LISTS assets ITEMS ${out}/error_details.bin)
  cmake_path(GET from FILENAME name)
  string(REGEX REPLACE "\\.bin$" "" name ${name})
  add_custom_command(OUTPUT ${out}/${name}.inc
    COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DTO=${out}/${name}.inc -P ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
    DEPENDS ${from} ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(coracle_console PRIVATE ${out}/${name}.inc)
endforeach()
target_include_directories(coracle_console PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
