# protoc's part of the rooms wellknown and xds: the messages of services that others define. Their definitions are
# in packages of our own, for the lite runtime: a program that links other people's C++ of the same
# definitions then has neither a class nor a registered name twice (docs/decisions/0005). What does not depend on
# protobuf's version lies with the sources: tests/golden/wellknown.py.

_coracle_choose_protoc()

# coracle_lite_protos(wellknown FOLDER wellknown FILES health reflection): src/wellknown/health.proto becomes wellknown/health.pb.h, for the
# room and for those that include its headers.
function(coracle_lite_protos room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" FOLDER FILES)
  set(from ${PROJECT_SOURCE_DIR}/src)
  set(options -w)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")  # not ours to examine, like protobuf's library, and slow to compile so
    list(APPEND options -O0 -fno-sanitize=all)
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${room})
  file(MAKE_DIRECTORY ${out})
  list(TRANSFORM arg_FILES REPLACE "(.+)" "${from}/${arg_FOLDER}/\\1.proto" OUTPUT_VARIABLE all)  # they import each other
  set(generated)
  foreach(name IN LISTS arg_FILES)
    set(stem ${out}/${arg_FOLDER}/${name})
    add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h
      COMMAND ${protoc} -I${from} --cpp_out=${out} ${from}/${arg_FOLDER}/${name}.proto
      DEPENDS ${all} ${programs}
      COMMENT "Generating C++ from ${arg_FOLDER}/${name}.proto"
      VERBATIM)
    target_sources(coracle_${room} PRIVATE ${stem}.pb.h)
    list(APPEND generated ${stem}.pb.cc)
  endforeach()
  # In one piece: most of the time goes into protobuf's headers. Sources of newer versions each have a variable of the same name.
  set(units ${generated})
  if(protobuf_VERSION VERSION_LESS 4)
    set(units ${out}/${arg_FOLDER}/messages.pb.cc)
    list(TRANSFORM arg_FILES REPLACE "(.+)" "#include \"\\1.pb.cc\"" OUTPUT_VARIABLE includes)
    list(JOIN includes "\n" includes)
    file(CONFIGURE OUTPUT ${units} CONTENT "${includes}\n" @ONLY)
    set_source_files_properties(${units} PROPERTIES OBJECT_DEPENDS "${generated}")
  endif()
  set_source_files_properties(${units} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
  target_sources(coracle_${room} PRIVATE ${units})

  # As SYSTEM: protoc's headers do not pass our warnings.
  target_include_directories(coracle_${room} SYSTEM PUBLIC ${out})
endfunction()
