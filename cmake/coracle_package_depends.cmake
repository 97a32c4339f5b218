# Read by cpack: the packages that who builds against libcoracle-dev needs, by the files that the build found. What
# the plugin links is found by dpkg-shlibdeps.

set(depends ${CPACK_CORACLE_DEPENDS})

# The package of a file, with the version that it has here: the archive was compiled against its headers.
function(depend_on file)
  execute_process(COMMAND dpkg-query --search ${file} OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "coracle: ${file} is of no Debian package, so that nothing can depend on it; "
      "build against Debian's libraries, or install by cmake --install")
  endif()
  string(REGEX REPLACE "[:,].*" "" owner ${owner})
  execute_process(COMMAND dpkg-query --show --showformat \${Version} ${owner} OUTPUT_VARIABLE version)
  string(REGEX REPLACE "-[^-]*$" "" version ${version})  # without Debian's own revision
  list(APPEND depends "${owner} (>= ${version})")
  list(REMOVE_DUPLICATES depends)
  set(depends ${depends} PARENT_SCOPE)
endfunction()

foreach(module IN LISTS CPACK_CORACLE_MODULES)
  execute_process(COMMAND pkg-config --variable=pcfiledir ${module} OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE)
  depend_on(${dir}/${module}.pc)
endforeach()
depend_on(${CPACK_CORACLE_PROTOC})
list(JOIN depends ", " CPACK_DEBIAN_CORACLE_DEV_PACKAGE_DEPENDS)
