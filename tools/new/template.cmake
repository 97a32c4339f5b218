# coracle_embed_template(target): the files of template/ become C++ arrays, which template_files.cpp includes.

function(coracle_embed_template target)
  set(from ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/template)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/new)
  file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${from} ${from}/*)
  set(number 0)
  set(arrays)
  set(rows)
  foreach(name IN LISTS names)
    add_custom_command(OUTPUT ${out}/${name}.inc
      COMMAND ${CMAKE_COMMAND} -DFROM=${from}/${name} -DTO=${out}/${name}.inc
        -P ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
      DEPENDS ${from}/${name} ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
      COMMENT "Embedding the template of ${name}"
      VERBATIM)
    target_sources(${target} PRIVATE ${out}/${name}.inc)
    math(EXPR number "${number} + 1")
    string(APPEND arrays "constexpr unsigned char file_${number}[] = {\n#include \"${name}.inc\"\n};\n")
    string(APPEND rows "  {\"${name}\", text_of(file_${number})},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out}/template_files.inc CONTENT "${arrays}const template_file embedded[] = {\n${rows}};\n" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
