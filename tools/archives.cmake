# coracle is one file that runs wherever the C library does: all else that it stands on comes from archives, where each of them
# is found (Debian's development packages have them); else from shared libraries, as in any other program.

function(coracle_link_archives program)
  set(needed protobuf uring cares z zstd ssl crypto edit bsd md tinfo)
  set(names_of_brotli brotlienc brotlidec brotlicommon)
  set(names_of_snappy snappy)
  set(names_of_lz4 lz4)
  foreach(library IN ITEMS brotli snappy lz4)
    if(${library}_FOUND)
      list(APPEND needed ${names_of_${library}})
    endif()
  endforeach()

  foreach(name IN LISTS needed)
    find_library(coracle_archive_of_${name} lib${name}.a)
    mark_as_advanced(coracle_archive_of_${name})
    if(NOT coracle_archive_of_${name})
      message(STATUS "coracle (the program) is linked to shared libraries: there is no lib${name}.a")
      return()
    endif()
    list(APPEND archives ${coracle_archive_of_${name}})
  endforeach()

  # Before the shared libraries of the targets, which nobody needs then.
  target_link_libraries(${program} PRIVATE -Wl,--as-needed -Wl,--start-group
    $<TARGET_FILE:coracle::tls> $<TARGET_FILE:coracle::console> $<TARGET_FILE:coracle::coracle> ${archives} -Wl,--end-group)
  target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
endfunction()
