# protoc's part of the room wellknown: the messages of the services that gRPC itself defines. Their definitions are
# copies in a package of our own, for the lite runtime: a program that links other people's C++ of the same
# definitions then has neither a class nor a registered name twice (docs/decisions/0005). What does not depend on
# protobuf's version lies with the sources: tests/golden/wellknown.py.

_coracle_choose_protoc()
set(from ${PROJECT_SOURCE_DIR}/src)
set(options -w)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")  # not ours to examine, like protobuf's library, and slow to compile so
  list(APPEND options -O0 -fno-sanitize=all)
endif()
set(out ${CMAKE_CURRENT_BINARY_DIR}/wellknown)
file(MAKE_DIRECTORY ${out})
foreach(name IN ITEMS health reflection channelz orca_load_report orca)
  set(stem ${out}/wellknown/${name})
  add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h
    COMMAND ${protoc} -I${from} --cpp_out=${out} ${from}/wellknown/${name}.proto
    DEPENDS ${from}/wellknown/${name}.proto ${programs}
    COMMENT "Generating C++ from wellknown/${name}.proto"
    VERBATIM)
  set_source_files_properties(${stem}.pb.cc PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
  target_sources(coracle_wellknown PRIVATE ${stem}.pb.cc ${stem}.pb.h)
endforeach()

# As SYSTEM: protoc's headers do not pass our warnings.
target_include_directories(coracle_wellknown SYSTEM PUBLIC ${out})
