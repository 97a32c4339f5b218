# What the room wellknown is made of: C++ of the services that gRPC itself defines (proto/grpc), and their
# descriptors. Read by src/CMakeLists.txt when the rooms are there.
#
# The C++ is made of copies: in the package coracle.wellknown, for the lite runtime. A program that links other
# people's C++ of the same definitions then has neither a class nor a registered name twice (docs/decisions/0005).

_coracle_choose_programs()
set(protos ${PROJECT_SOURCE_DIR}/proto)
set(out ${CMAKE_CURRENT_BINARY_DIR}/wellknown)
file(MAKE_DIRECTORY ${out}/wellknown)

# coracle_wellknown_code(health health.v1): wellknown/health.{pb,coracle}.hpp from proto/grpc/health/v1/health.proto
function(coracle_wellknown_code name package)
  string(REPLACE . / folder ${package})
  set(original ${protos}/grpc/${folder}/${name}.proto)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} text)
  string(REPLACE "package grpc.${package};" "package coracle.wellknown.${package};\noption optimize_for = LITE_RUNTIME;"
    text "${text}")
  set(copy ${out}/wellknown/${name}.proto)
  file(CONFIGURE OUTPUT ${copy} CONTENT "${text}" @ONLY)

  set(stem ${out}/wellknown/${name})
  add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.coracle.hpp
    COMMAND ${protoc} -I${out} --cpp_out=${out} --coracle_out=${out} --plugin=protoc-gen-coracle=${plugin}
      --coracle_opt=wire_package=grpc.${package} ${copy}
    DEPENDS ${copy} ${programs}
    COMMENT "Generating C++ from ${name}.proto"
    VERBATIM)
  set_source_files_properties(${stem}.pb.cc PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON)
  target_sources(coracle_wellknown PRIVATE ${stem}.pb.cc ${stem}.pb.h ${stem}.coracle.hpp)
endfunction()

coracle_wellknown_code(health health.v1)
coracle_wellknown_code(reflection reflection.v1)
coracle_wellknown_code(channelz channelz.v1)

# The definitions themselves, as bytes in a C++ file.
set(files grpc/health/v1/health.proto grpc/reflection/v1/reflection.proto grpc/reflection/v1alpha/reflection.proto
  grpc/channelz/v1/channelz.proto)
list(TRANSFORM files PREPEND ${protos}/ OUTPUT_VARIABLE paths)
add_custom_command(OUTPUT ${out}/wellknown/descriptor_bytes.inc
  COMMAND ${protoc} -I${protos} --include_imports --descriptor_set_out=${out}/wellknown.protoset ${files}
  COMMAND ${CMAKE_COMMAND} -DFROM=${out}/wellknown.protoset -DTO=${out}/wellknown/descriptor_bytes.inc
    -P ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
  DEPENDS ${paths} ${programs} ${PROJECT_SOURCE_DIR}/cmake/bytes_to_source.cmake
  COMMENT "Embedding the descriptors of gRPC's own services"
  VERBATIM)
target_sources(coracle_wellknown PRIVATE ${out}/wellknown/descriptor_bytes.inc)

# As SYSTEM: protoc's headers do not pass our warnings.
target_include_directories(coracle_wellknown SYSTEM PUBLIC ${out})
