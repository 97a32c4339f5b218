# The C++20 modules: targets with which a project compiles the interfaces of modules/ by itself. What a compiler makes of an interface
# serves that compiler and these options alone, so that a package cannot hold it. Nothing is compiled that no program links.
#
#   coracle::module            import coracle;            the client, the server, the runtime and the test kit
#   coracle::tls_module        import coracle.tls;        links coracle::tls
#   coracle::console_module    import coracle.console;    links coracle::console
#   coracle::telemetry_module  import coracle.telemetry;  links coracle::telemetry
#   coracle::naming_module     import coracle.naming;     links coracle::naming
#   coracle::xds_module        import coracle.xds;        links coracle::xds
#
# The targets have the project's CMAKE_CXX_STANDARD, as all that import them must.

# Why there are no such targets, or empty.
set(_coracle_no_modules "")
if(CMAKE_VERSION VERSION_LESS 3.28)
  set(_coracle_no_modules "CMake 3.28 or newer, and this is ${CMAKE_VERSION}")
elseif(NOT CMAKE_GENERATOR MATCHES "Ninja")
  set(_coracle_no_modules "the generator Ninja, and this is ${CMAKE_GENERATOR}: configure with -G Ninja")
elseif(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$"
    OR CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16
    OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  # g++ 15 refuses protobuf 3.21's map.h in a module: it "exposes TU-local entity kGlobalEmptyTableSize".
  set(_coracle_no_modules "g++ 16 or newer, or clang 19 or newer, and this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_CXX_COMPILER_CLANG_SCAN_DEPS)
  set(_coracle_no_modules "clang-scan-deps, which was not found: install clang-tools of the compiler's version")
endif()
set_property(GLOBAL PROPERTY coracle_no_modules "${_coracle_no_modules}")

# _coracle_module(folder tls_module coracle.tls coracle::tls)
function(_coracle_module folder name module library)
  if(NOT TARGET ${library} OR TARGET coracle_${name})
    return()
  endif()
  add_library(coracle_${name} STATIC EXCLUDE_FROM_ALL)
  add_library(coracle::${name} ALIAS coracle_${name})
  target_sources(coracle_${name} PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${folder} FILES ${folder}/${module}.cppm)
  target_link_libraries(coracle_${name} PUBLIC ${library} ${ARGN})
  # As the sources of the project that includes Coracle's: a compiler refuses an interface that was compiled otherwise.
  if(DEFINED coracle_extensions_of_project AND NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(coracle_${name} PROPERTIES CXX_EXTENSIONS ${coracle_extensions_of_project})
  endif()
  # It may end up in a shared library.
  set_target_properties(coracle_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
endfunction()

function(_coracle_modules folder)
  get_property(no_modules GLOBAL PROPERTY coracle_no_modules)
  if(NOT no_modules AND NOT EXISTS ${folder}/coracle.cppm)
    set_property(GLOBAL PROPERTY coracle_no_modules "the interfaces of the modules, which are not in ${folder}")
    return()
  endif()
  if(no_modules)
    return()
  endif()
  _coracle_module(${folder} module coracle coracle::coracle)
  foreach(part IN ITEMS tls console telemetry naming xds)
    if(NOT TARGET coracle::${part})
      continue()
    endif()
    _coracle_module(${folder} ${part}_module coracle.${part} coracle::${part} coracle::module)
  endforeach()
endfunction()
