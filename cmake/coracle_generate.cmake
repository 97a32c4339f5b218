# coracle_generate(): at build time, from .proto files to C++ in a target.
#
#   coracle_generate(PROTOS a.proto [b.proto ...]
#     [TARGET target]            # compiles what is written, and links coracle::coracle
#     [OUT_VAR variable]         # set to what is written; without TARGET it is all that happens
#     [IMPORT_DIRS dir ...]      # as protoc's -I; each .proto lies below one. Default: the current source directory
#     [OUT_DIR dir]              # default: generated/<target>, or generated, in the current binary directory
#     [NAMESPACE name]           # inner namespace of the generated classes; the plugin's default is rpc
#     [USAGE_REQUIREMENT PUBLIC|PRIVATE|INTERFACE]  # who sees the headers. Default: PUBLIC
#     [GENERATE_DESCRIPTORS]     # also writes <name>.protoset, with imports and comments, for grpcurl and its like
#     [MODULE name]              # also writes the module of that name, with messages and classes; TARGET links coracle::module
#     [FAKES]                    # also writes <name>.coracle.fake.hpp: services for tests that answer as they are told
#     [GRPC]                     # also writes grpc_cpp_plugin's classes; TARGET links coracle::grpcpp, or needs find_package(gRPC CONFIG)
#     [GRPC_MOCKS]               # with GRPC: also writes <name>_mock.grpc.pb.h, its stubs for GoogleMock
#     [PROTOC program|target] [PLUGIN program|target] [GRPC_PLUGIN program|target]
#     [EXTRA_ARGS argument ...]) # for protoc
#
# google/api/annotations.proto, http.proto and httpbody.proto come with Coracle and need no IMPORT_DIRS: a .proto may
# import them, and PROTOS may name them (a program compiles each once). An IMPORT_DIR with other copies goes first.
#
# For dir/a.proto the target gets dir/a.pb.h, dir/a.pb.cc and dir/a.coracle.hpp, named from the import
# directory, and it links coracle::coracle. They are written again when the .proto, anything it imports,
# protoc or the plugin changes. To be called in the directory that makes the target.
#
# The module is made of one partition for each .proto, dir/a.coracle.cppm, and of name.cppm, which exports them.
#
# An INTERFACE library has nothing to compile the messages into: it gets a static library <target>_protos.
#
# When cross-compiling, protoc and the plugin are the first that find_program() sees (PATH, CMAKE_PROGRAM_PATH and so
# on) and that run on the building machine; CORACLE_PROTOC and CORACLE_PLUGIN name others.

# This file may be read by projects that set other policies; DEPFILE below needs CMP0116.
cmake_policy(VERSION 3.25)

set(CORACLE_PLUGIN "" CACHE FILEPATH "The protoc-gen-coracle to run; empty: the one of this build or package")
set(CORACLE_PROTOC "" CACHE FILEPATH "The protoc to run; empty: the one that belongs to protobuf's libraries")
mark_as_advanced(CORACLE_PLUGIN CORACLE_PROTOC)

function(coracle_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GENERATE_DESCRIPTORS;FAKES;GRPC;GRPC_MOCKS"
    "TARGET;OUT_VAR;OUT_DIR;NAMESPACE;MODULE;PROTOC;PLUGIN;GRPC_PLUGIN;USAGE_REQUIREMENT" "PROTOS;IMPORT_DIRS;EXTRA_ARGS")
  _coracle_check_arguments()
  set(receiver)
  if(arg_TARGET)
    _coracle_check_target()
    _coracle_choose_receiver()
  endif()
  _coracle_choose_protoc()
  _coracle_choose_plugin()
  _coracle_choose_grpc_plugin()

  if(NOT arg_IMPORT_DIRS)
    set(arg_IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(import_dirs)
  foreach(dir IN LISTS arg_IMPORT_DIRS)
    cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    # A slash at the end would hide from cmake_path() what lies below.
    string(REGEX REPLACE "(.)/$" "\\1" dir "${dir}")
    list(APPEND import_dirs ${dir})
  endforeach()
  _coracle_own_protos(own_protos)
  list(APPEND import_dirs ${own_protos})
  if(NOT arg_OUT_DIR)
    set(arg_OUT_DIR generated)
    cmake_path(APPEND arg_OUT_DIR ${arg_TARGET})
  endif()
  cmake_path(ABSOLUTE_PATH arg_OUT_DIR BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} NORMALIZE)

  set(written)
  set(all_headers)
  set(interfaces)
  set(partitions)
  foreach(proto IN LISTS arg_PROTOS)
    _coracle_generate_one(${proto})
    list(APPEND written ${sources} ${headers} ${others})
    list(APPEND all_headers ${headers})
  endforeach()
  if(arg_MODULE)
    set(imports)
    foreach(partition IN LISTS partitions)
      string(APPEND imports "export import :${partition};\n")
    endforeach()
    file(CONFIGURE OUTPUT ${arg_OUT_DIR}/${arg_MODULE}.cppm @ONLY CONTENT
      "// Written by coracle_generate().\nexport module @arg_MODULE@;\n\n@imports@")
    list(APPEND interfaces ${arg_OUT_DIR}/${arg_MODULE}.cppm)
  endif()
  if(arg_OUT_VAR)
    set(${arg_OUT_VAR} ${written} ${interfaces} PARENT_SCOPE)
  endif()
  if(NOT arg_TARGET)
    return()
  endif()

  target_sources(${receiver} PRIVATE ${written})
  # As SYSTEM: protoc's headers do not pass everybody's warnings, and no project can fix them.
  target_include_directories(${receiver} SYSTEM ${scope} $<BUILD_INTERFACE:${arg_OUT_DIR}>)
  target_link_libraries(${receiver} ${scope} coracle::coracle)
  # coracle::coracle brings it along, but not into every directory by name.
  if(TARGET protobuf::libprotobuf)
    target_link_libraries(${receiver} ${scope} protobuf::libprotobuf)
  endif()
  if(arg_GRPC)
    target_link_libraries(${receiver} ${scope} ${grpc_library})
  endif()
  if(arg_MODULE)
    # The headers of a target with file sets are its own unless they are in one (CMP0154): others would not wait for them.
    target_sources(${receiver} ${scope} FILE_SET CXX_MODULES BASE_DIRS ${arg_OUT_DIR} FILES ${interfaces}
      FILE_SET HEADERS BASE_DIRS ${arg_OUT_DIR} FILES ${all_headers})
    target_link_libraries(${receiver} ${scope} coracle::module)
  endif()
endfunction()

macro(_coracle_check_arguments)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "coracle_generate: it does not know: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "coracle_generate: nothing follows ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_PROTOS)
    message(FATAL_ERROR "coracle_generate: PROTOS is missing: coracle_generate(TARGET target PROTOS a.proto ...)")
  endif()
  if(NOT arg_TARGET AND NOT arg_OUT_VAR)
    message(FATAL_ERROR "coracle_generate: TARGET is missing: coracle_generate(TARGET target PROTOS a.proto ...); "
      "OUT_VAR takes the names alone")
  endif()
  if(arg_USAGE_REQUIREMENT AND NOT arg_USAGE_REQUIREMENT MATCHES "^(PUBLIC|PRIVATE|INTERFACE)$")
    message(FATAL_ERROR "coracle_generate: USAGE_REQUIREMENT is ${arg_USAGE_REQUIREMENT}; "
      "it can be PUBLIC, PRIVATE or INTERFACE")
  endif()
  if(arg_GRPC_MOCKS AND NOT arg_GRPC)
    message(FATAL_ERROR "coracle_generate: GRPC_MOCKS are mocks of grpc_cpp_plugin's classes; add GRPC, "
      "or take FAKES for Coracle's")
  endif()
  if(arg_MODULE AND NOT TARGET coracle::module)
    get_property(reason GLOBAL PROPERTY coracle_no_modules)
    if(NOT reason)
      set(reason "find_package(coracle) before it")
    endif()
    message(FATAL_ERROR "coracle_generate: MODULE needs ${reason}")
  endif()
  if(arg_MODULE AND arg_USAGE_REQUIREMENT STREQUAL INTERFACE)
    message(FATAL_ERROR "coracle_generate: a target compiles its MODULE itself: take PUBLIC or PRIVATE in place of INTERFACE")
  endif()
endmacro()

macro(_coracle_check_target)
  if(NOT TARGET ${arg_TARGET})
    message(FATAL_ERROR "coracle_generate: there is no target ${arg_TARGET}; add it before this call")
  endif()
  get_target_property(aliased ${arg_TARGET} ALIASED_TARGET)
  if(aliased)
    message(FATAL_ERROR "coracle_generate: ${arg_TARGET} is another name for ${aliased}; give that one")
  endif()
  get_target_property(made_in ${arg_TARGET} SOURCE_DIR)
  if(NOT made_in STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "coracle_generate: ${arg_TARGET} is made in ${made_in}; "
      "call coracle_generate there: generated sources are known in one directory only")
  endif()
  # A process has one of the two libraries.
  set(grpc_library gRPC::grpc++)
  foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(linked ${arg_TARGET} ${property})
    if("coracle::grpcpp" IN_LIST linked)
      set(grpc_library coracle::grpcpp)
    endif()
  endforeach()
  if(arg_GRPC AND NOT TARGET ${grpc_library})
    message(FATAL_ERROR "coracle_generate: GRPC needs find_package(gRPC CONFIG) before it, or a TARGET that links coracle::grpcpp")
  endif()
endmacro()

# receiver: the target that compiles the generated sources; scope: how it hands on what it needs.
macro(_coracle_choose_receiver)
  set(receiver ${arg_TARGET})
  set(scope PUBLIC)
  if(arg_USAGE_REQUIREMENT)
    set(scope ${arg_USAGE_REQUIREMENT})
  endif()
  get_target_property(type ${arg_TARGET} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    if(NOT scope STREQUAL PUBLIC AND NOT scope STREQUAL INTERFACE)
      message(FATAL_ERROR "coracle_generate: ${arg_TARGET} is an INTERFACE library; "
        "USAGE_REQUIREMENT ${scope} would hide the headers from everybody")
    endif()
    set(receiver ${arg_TARGET}_protos)
    set(scope PUBLIC)
    if(NOT TARGET ${receiver})
      add_library(${receiver} STATIC)
      # It may end up in a shared library.
      set_target_properties(${receiver} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_link_libraries(${arg_TARGET} INTERFACE ${receiver})
    endif()
  elseif(NOT type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$")
    message(FATAL_ERROR "coracle_generate: ${arg_TARGET} is neither a library nor an executable")
  endif()
endmacro()

# These set protoc, plugin and grpc_plugin, what to run; programs gathers what the outputs depend on.

macro(_coracle_choose_protoc)
  set(programs)
  if(arg_PROTOC)
    _coracle_program(protoc ${arg_PROTOC})
  elseif(CORACLE_PROTOC)
    _coracle_program(protoc ${CORACLE_PROTOC})
  elseif(TARGET protobuf::protoc AND NOT CMAKE_CROSSCOMPILING)
    _coracle_program(protoc protobuf::protoc)
  elseif(Protobuf_PROTOC_EXECUTABLE AND NOT CMAKE_CROSSCOMPILING)
    # FindProtobuf's target is known in one directory only, what it found everywhere.
    _coracle_program(protoc ${Protobuf_PROTOC_EXECUTABLE})
  else()
    find_program(CORACLE_FOUND_PROTOC NAMES ${Protobuf_PROTOC_EXECUTABLE} protoc VALIDATOR _coracle_runs_here)
    mark_as_advanced(CORACLE_FOUND_PROTOC)
    if(NOT CORACLE_FOUND_PROTOC)
      message(FATAL_ERROR "coracle_generate: there is no protoc that runs on this machine; "
        "install protobuf-compiler or set CORACLE_PROTOC")
    endif()
    _coracle_program(protoc ${CORACLE_FOUND_PROTOC})
  endif()
endmacro()

macro(_coracle_choose_plugin)
  if(arg_PLUGIN)
    _coracle_program(plugin ${arg_PLUGIN})
  elseif(CORACLE_PLUGIN)
    _coracle_program(plugin ${CORACLE_PLUGIN})
  elseif(TARGET coracle::protoc-gen-coracle AND NOT CMAKE_CROSSCOMPILING)
    _coracle_program(plugin coracle::protoc-gen-coracle)
  else()
    find_program(CORACLE_FOUND_PLUGIN protoc-gen-coracle VALIDATOR _coracle_runs_here)
    mark_as_advanced(CORACLE_FOUND_PLUGIN)
    if(NOT CORACLE_FOUND_PLUGIN)
      message(FATAL_ERROR "coracle_generate: there is no protoc-gen-coracle that runs on this machine; "
        "build Coracle for it and set CORACLE_PLUGIN to its protoc-gen-coracle")
    endif()
    _coracle_program(plugin ${CORACLE_FOUND_PLUGIN})
  endif()
endmacro()

macro(_coracle_choose_grpc_plugin)
  if(NOT arg_GRPC)
  elseif(arg_GRPC_PLUGIN)
    _coracle_program(grpc_plugin ${arg_GRPC_PLUGIN})
  elseif(TARGET gRPC::grpc_cpp_plugin AND NOT CMAKE_CROSSCOMPILING)
    _coracle_program(grpc_plugin gRPC::grpc_cpp_plugin)
  else()
    find_program(CORACLE_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
    mark_as_advanced(CORACLE_GRPC_PLUGIN)
    _coracle_program(grpc_plugin ${CORACLE_GRPC_PLUGIN})
  endif()
endmacro()

# For find_program(): passes over what is made for another machine.
function(_coracle_runs_here result program)
  execute_process(COMMAND ${program} --version RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(NOT code STREQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Sets <result> to the path of a program that is given by path or as a target.
macro(_coracle_program result program)
  if(TARGET ${program})
    set(${result} $<TARGET_FILE:${program}>)
    list(APPEND programs ${program})
  elseif(EXISTS ${program})
    set(${result} ${program})
    cmake_path(ABSOLUTE_PATH ${result} BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  else()
    message(FATAL_ERROR "coracle_generate: there is no ${program}")
  endif()
  list(APPEND programs ${${result}})
endmacro()

# Sets <result> to the directory that Coracle's own google/api/annotations.proto is imported from.
function(_coracle_own_protos result)
  get_property(dir GLOBAL PROPERTY coracle_proto_dir)  # of an installed package: coracleConfig.cmake
  if(NOT dir)
    cmake_path(SET dir NORMALIZE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../proto)
  endif()
  if(EXISTS ${dir}/google/api/annotations.proto)
    set(${result} ${dir} PARENT_SCOPE)
  endif()
endfunction()

# Sets <result> to the path of a .proto that is named from the current source directory or, as protoc does
# it, from an import directory. One that the build itself writes need not be there yet.
function(_coracle_find_proto result proto)
  foreach(dir IN ITEMS ${CMAKE_CURRENT_SOURCE_DIR} ${import_dirs})
    cmake_path(ABSOLUTE_PATH proto BASE_DIRECTORY ${dir} NORMALIZE OUTPUT_VARIABLE path)
    get_source_file_property(generated ${path} GENERATED)
    if(generated OR EXISTS ${path})
      set(${result} ${path} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN import_dirs ", " dirs)
  message(FATAL_ERROR "coracle_generate: there is no ${proto} in ${CMAKE_CURRENT_SOURCE_DIR} or ${dirs}")
endfunction()

# Uses the variables of coracle_generate, and sets sources, headers and others to what is written; adds to interfaces and partitions.
function(_coracle_generate_one proto)
  _coracle_find_proto(proto ${proto})
  # protoc, too, names a file from the first of its import directories that holds it.
  set(name)
  foreach(dir IN LISTS import_dirs)
    cmake_path(IS_PREFIX dir ${proto} below)
    if(below)
      cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${dir} OUTPUT_VARIABLE name)
      break()
    endif()
  endforeach()
  if(NOT name)
    list(JOIN import_dirs ", " dirs)
    message(FATAL_ERROR "coracle_generate: ${proto} lies in no import directory (${dirs}); "
      "add the directory that its imports are written from to IMPORT_DIRS")
  endif()

  cmake_path(REMOVE_EXTENSION name LAST_ONLY OUTPUT_VARIABLE stem)
  set(stem ${arg_OUT_DIR}/${stem})
  get_property(taken DIRECTORY PROPERTY coracle_generated)
  if(stem IN_LIST taken)
    message(FATAL_ERROR "coracle_generate: two calls write ${stem}.coracle.hpp; give one of them another OUT_DIR")
  endif()
  set_property(DIRECTORY APPEND PROPERTY coracle_generated ${stem})
  cmake_path(GET stem PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  set(sources ${stem}.pb.cc)
  set(headers ${stem}.coracle.hpp ${stem}.pb.h)
  set(others)
  set(arguments --cpp_out=${arg_OUT_DIR} --coracle_out=${arg_OUT_DIR} --plugin=protoc-gen-coracle=${plugin})
  if(arg_NAMESPACE)
    list(APPEND arguments --coracle_opt=namespace=${arg_NAMESPACE})
  endif()
  set(own_interface)
  if(arg_MODULE)
    cmake_path(REMOVE_EXTENSION name LAST_ONLY OUTPUT_VARIABLE partition)
    string(MAKE_C_IDENTIFIER ${partition}_proto partition)  # a name that is no keyword
    if(partition IN_LIST partitions)
      message(FATAL_ERROR "coracle_generate: ${proto} and another file have one name as a part of the module, ${partition}; rename one")
    endif()
    list(APPEND arguments --coracle_opt=module=${arg_MODULE}:${partition})
    list(APPEND partitions ${partition})
    set(own_interface ${stem}.coracle.cppm)
    list(APPEND interfaces ${own_interface})
  endif()
  if(arg_FAKES)
    list(APPEND arguments --coracle_opt=fakes=true)
    list(APPEND headers ${stem}.coracle.fake.hpp)
  endif()
  if(arg_GRPC)
    list(APPEND arguments --grpc_out=${arg_OUT_DIR} --plugin=protoc-gen-grpc=${grpc_plugin})
    list(APPEND sources ${stem}.grpc.pb.cc)
    list(APPEND headers ${stem}.grpc.pb.h)
  endif()
  if(arg_GRPC_MOCKS)
    list(APPEND arguments --grpc_opt=generate_mock_code=true)
    list(APPEND headers ${stem}_mock.grpc.pb.h)
  endif()
  if(arg_GENERATE_DESCRIPTORS)
    list(APPEND arguments --descriptor_set_out=${stem}.protoset --include_imports --include_source_info)
    list(APPEND others ${stem}.protoset)
  endif()
  list(TRANSFORM import_dirs PREPEND -I OUTPUT_VARIABLE imports)

  # ninja wants the first output to be the first that the DEPFILE names, where protoc sorts them.
  add_custom_command(OUTPUT ${headers} ${sources} ${own_interface} ${others}
    COMMAND ${protoc} ${imports} ${arguments} --dependency_out=${stem}.d ${arg_EXTRA_ARGS} ${proto}
    DEPENDS ${proto} ${programs}
    DEPFILE ${stem}.d
    COMMENT "Generating C++ from ${name}"
    VERBATIM)
  # protoc's sources are compiled as they are: no project can fix their warnings, and a precompiled header or
  # another file in the same unit could change what they mean.
  set_source_files_properties(${sources} PROPERTIES
    COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON CXX_SCAN_FOR_MODULES OFF)
  set_source_files_properties(${sources} ${headers} PROPERTIES SKIP_AUTOGEN ON)
  foreach(kind IN ITEMS sources headers others interfaces partitions)
    set(${kind} ${${kind}} PARENT_SCOPE)
  endforeach()
endfunction()
