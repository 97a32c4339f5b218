# What the library stands on. The installed package files (coracleConfig.cmake, coracle.pc) ask for the same.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# The modules of pkg-config that a library is known by, with the least version.
set(coracle_modules_of_uring "liburing>=2.3")
set(coracle_modules_of_cares "libcares>=1.18")
set(coracle_modules_of_zlib zlib)
set(coracle_modules_of_zstd libzstd)
set(coracle_modules_of_brotli libbrotlienc libbrotlidec)
set(coracle_modules_of_snappy snappy)
set(coracle_modules_of_lz4 liblz4)

set(coracle_linked uring cares zlib zstd)
foreach(library IN LISTS coracle_linked)
  pkg_check_modules(${library} REQUIRED IMPORTED_TARGET ${coracle_modules_of_${library}})
endforeach()
# Messages may come compressed by these, too, where they are found.
foreach(library IN ITEMS brotli snappy lz4)
  pkg_check_modules(${library} QUIET IMPORTED_TARGET ${coracle_modules_of_${library}})
  if(${library}_FOUND)
    list(APPEND coracle_linked ${library})
  endif()
endforeach()

# Newer protobuf ships its own package file, which knows of its further dependencies.
find_package(protobuf CONFIG QUIET)
if(NOT protobuf_FOUND)
  find_package(Protobuf 3.21 REQUIRED MODULE)
endif()
