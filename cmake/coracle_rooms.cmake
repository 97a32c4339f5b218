# One target per room, with the directions of cmake/rooms.txt; all rooms together are the library `coracle`.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt)

# Reads cmake/rooms.txt: coracle_rooms is the list of rooms in order, coracle_room_<name>_may_include the
# rooms whose headers <name> may include.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt lines REGEX "^[a-z0-9]+\\*?:")
set(coracle_rooms)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([a-z0-9]+)\\*?:(.*)$" _ "${line}")
  set(room ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "[a-z0-9]+" below "${CMAKE_MATCH_2}")
  foreach(lower IN LISTS below)
    if(NOT lower IN_LIST coracle_rooms)
      message(FATAL_ERROR "cmake/rooms.txt: ${room} names ${lower}, which must stand above it")
    endif()
  endforeach()
  list(APPEND coracle_rooms ${room})
  set(coracle_room_${room}_may_include ${below})
endforeach()

# The library that a room's objects go to: `coracle`, or the one that coracle_library_of_<name> says.
function(coracle_library_of result name)
  set(${result} coracle PARENT_SCOPE)
  if(DEFINED coracle_library_of_${name})
    set(${result} ${coracle_library_of_${name}} PARENT_SCOPE)
  endif()
endfunction()

set(coracle_optimised OFF)
if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
  set(coracle_optimised ON)
endif()

# A shared library is linked when it is built, so it may be optimised across rooms. A static one must stay usable by any compiler that
# its users link with.
set(coracle_optimised_at_link OFF)
if(DEFINED CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(coracle_optimised_at_link ${CMAKE_INTERPROCEDURAL_OPTIMIZATION})
elseif(BUILD_SHARED_LIBS AND coracle_optimised)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT coracle_optimised_at_link OUTPUT reason LANGUAGES CXX)
  if(NOT coracle_optimised_at_link)
    message(STATUS "The shared library is not optimised when it is linked: ${reason}")
  endif()
endif()

# Makes the target coracle_<name> from src/<name>/ and adds its objects to its library. A room whose folders
# do not exist yet is passed over.
function(coracle_room name)
  coracle_library_of(library ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/coracle/${name}/*.hpp
                                              ${PROJECT_SOURCE_DIR}/src/${name}/*.hpp)
  if(NOT sources AND NOT headers)
    return()
  endif()
  set(target coracle_${name})
  if(sources)
    add_library(${target} OBJECT ${sources})
    if(BUILD_SHARED_LIBS)
      set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        INTERPROCEDURAL_OPTIMIZATION ${coracle_optimised_at_link})
    endif()
    target_link_libraries(${target} PUBLIC coracle_usage PRIVATE coracle_build)
    # A room is one translation unit where it is optimised: its functions are inlined into each other.
    if(coracle_optimised)
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      # GCC takes the .cpp files for headers then, and warns of what their anonymous namespaces hold.
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endif()
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${target}>)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE coracle_usage)
    set(scope INTERFACE)
  endif()
  foreach(lower IN LISTS coracle_room_${name}_may_include)
    if(TARGET coracle_${lower})
      target_link_libraries(${target} ${scope} coracle_${lower})
    endif()
  endforeach()
endfunction()

# Links third-party libraries to a room and to its library: coracle_room_uses(runtime PRIVATE PkgConfig::uring).
function(coracle_room_uses name scope)
  if(NOT TARGET coracle_${name})
    return()
  endif()
  get_target_property(type coracle_${name} TYPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    target_link_libraries(coracle_${name} INTERFACE ${ARGN})
  else()
    target_link_libraries(coracle_${name} ${scope} ${ARGN})
  endif()
  coracle_library_of(library ${name})
  target_link_libraries(${library} ${scope} ${ARGN})
endfunction()

# Leaves one source file out of a room, where the build takes another in its place.
function(coracle_room_without name file)
  if(TARGET coracle_${name})
    get_target_property(sources coracle_${name} SOURCES)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/${name}/${file})
    set_target_properties(coracle_${name} PROPERTIES SOURCES "${sources}")
  endif()
endfunction()

# Sets <result> to the given rooms and all rooms below them, as far as they have targets.
function(coracle_rooms_with_all_below result)
  set(pending ${ARGN})
  set(found)
  while(pending)
    list(POP_FRONT pending room)
    if(NOT room IN_LIST found)
      list(APPEND found ${room})
      list(APPEND pending ${coracle_room_${room}_may_include})
    endif()
  endwhile()
  set(targets)
  foreach(room IN LISTS found)
    if(TARGET coracle_${room})
      list(APPEND targets ${room})
    endif()
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()
