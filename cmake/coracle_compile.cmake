# How everything is compiled: coracle_usage reaches the library's users, coracle_build stays with us.

# What cannot be compiled is refused here, in one line; coracle/base/impl/requirements.hpp does the same in a program.
set(coracle_refusal "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(coracle_refusal "g++ 12 or newer, or clang 16 or newer; this is g++ ${CMAKE_CXX_COMPILER_VERSION}: set CMAKE_CXX_COMPILER (Debian: apt-get install g++-12)")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  set(coracle_refusal "clang 16 or newer, or g++ 12 or newer; this is clang ${CMAKE_CXX_COMPILER_VERSION}: set CMAKE_CXX_COMPILER (Debian: apt-get install clang-19)")
elseif(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(coracle_refusal "g++ 12 or newer, or clang 16 or newer; this compiler is ${CMAKE_CXX_COMPILER_ID}: set CMAKE_CXX_COMPILER")
elseif(CMAKE_CXX_STANDARD AND (CMAKE_CXX_STANDARD LESS 20 OR CMAKE_CXX_STANDARD EQUAL 98))
  set(coracle_refusal "C++20 or newer; CMAKE_CXX_STANDARD is ${CMAKE_CXX_STANDARD}: set it to 20, 23 or 26, or leave it unset")
elseif(CMAKE_CXX_FLAGS MATCHES "-fno-exceptions")
  set(coracle_refusal "exceptions: take -fno-exceptions out of CMAKE_CXX_FLAGS")
elseif(CMAKE_SYSTEM_PROCESSOR AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|aarch64|arm64|s390x)$"
       OR DEFINED CMAKE_SIZEOF_VOID_P AND CMAKE_SIZEOF_VOID_P LESS 8)
  set(coracle_refusal "x86-64 or 64-bit ARM; this builds for ${CMAKE_SYSTEM_PROCESSOR} with pointers of ${CMAKE_SIZEOF_VOID_P} bytes: build on one of them, or for ARM on any machine with --toolchain cmake/cross.cmake (docs/reference/platforms.md)")
endif()
if(coracle_refusal)
  message(FATAL_ERROR "Coracle requires ${coracle_refusal}")
endif()

set(coracle_extensions_of_project ${CMAKE_CXX_EXTENSIONS_DEFAULT})
if(DEFINED CMAKE_CXX_EXTENSIONS)
  set(coracle_extensions_of_project ${CMAKE_CXX_EXTENSIONS})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
# A static library's symbols stay out of the interface of the shared library that it may end in.
if(NOT BUILD_SHARED_LIBS)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
endif()
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CORACLE_CCACHE ccache)
  mark_as_advanced(CORACLE_CCACHE)
  if(CORACLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Precompiled headers are cached only when ccache may overlook their time stamps.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CORACLE_CCACHE})
    set(coracle_pch_flags $<IF:$<CXX_COMPILER_ID:GNU>,-fpch-preprocess,-Xclang;-fno-pch-timestamp>)
  endif()
endif()

# What a network faces, and an attacker: as distributions build it. What a project builds that includes this one is its choice. Tests
# are not optimised, which _FORTIFY_SOURCE requires, and undefine it.
set(coracle_hardened OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(coracle_hardened ON)
  add_compile_options(-fstack-protector-strong)
  if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")  # a packager may have chosen the level
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    add_compile_options(-fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    add_compile_options(-mbranch-protection=standard)
  endif()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> LINKER:-z,relro,-z,now)
endif()

add_library(coracle_usage INTERFACE)
target_compile_features(coracle_usage INTERFACE cxx_std_20)
target_include_directories(coracle_usage INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
# Without it GCC's unoptimised builds overflow the stack: each symmetric transfer between coroutines would
# nest a call. Clang always makes it a jump.
target_compile_options(coracle_usage INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-foptimize-sibling-calls>)

add_library(coracle_build INTERFACE)
# Probes for tracers (docs/guides/recorder.md): instructions that do nothing, and notes in the program.
include(CheckIncludeFileCXX)
check_include_file_cxx(sys/sdt.h CORACLE_HAS_SYS_SDT_H)
if(CORACLE_HAS_SYS_SDT_H)
  target_compile_definitions(coracle_build INTERFACE CORACLE_WITH_PROBES)
else()
  message(STATUS "Without probes for tracers: sys/sdt.h was not found (Debian: systemtap-sdt-dev)")
endif()
target_include_directories(coracle_build INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(coracle_build INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wundef -Wvla
  ${coracle_pch_flags})
# GCC 12 takes the inlined sum of two strings for an overlapping or overlong copy (GCC bugs 105329 and 105651), GCC 14 a short
# one that is moved into a vector.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(coracle_build INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endif()
