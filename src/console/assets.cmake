# The descriptors of google.rpc's error details, as bytes in the library.

set(out ${CMAKE_CURRENT_BINARY_DIR}/console/assets)
file(MAKE_DIRECTORY ${out})

_coracle_choose_protoc()
set(details google/rpc/error_details.proto)
add_custom_command(OUTPUT ${out}/error_details.inc
  COMMAND ${protoc} -I${PROJECT_SOURCE_DIR}/proto --include_imports --descriptor_set_out=${out}/error_details.bin ${details}
  COMMAND ${CMAKE_COMMAND} -DFROM=${out}/error_details.bin -DTO=${out}/error_details.inc -P ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/${details} ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake ${programs}
  COMMENT "Describing ${details}"
  VERBATIM)
target_sources(coracle_console PRIVATE ${out}/error_details.inc)
