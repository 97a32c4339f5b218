# foreign_loops: the event loops of the example whose libraries are installed (Debian: libuv1-dev, libglib2.0-dev), with
# foreign_loop_library_NAME. Tests and benchmarks use them, too.

set(foreign_loops poll)
set(foreign_loop_library_poll)
set(foreign_loop_module_uv libuv)
set(foreign_loop_module_glib glib-2.0)
foreach(loop IN ITEMS uv glib)
  pkg_check_modules(foreign_loop_${loop} QUIET IMPORTED_TARGET ${foreign_loop_module_${loop}})
  if(foreign_loop_${loop}_FOUND)
    list(APPEND foreign_loops ${loop})
    set(foreign_loop_library_${loop} PkgConfig::foreign_loop_${loop})
  else()
    message(STATUS "the foreign loop ${loop} is left out: there is no ${foreign_loop_module_${loop}}")
  endif()
endforeach()
