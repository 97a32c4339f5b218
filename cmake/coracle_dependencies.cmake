# What the library stands on. The installed package file looks for the same.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(uring REQUIRED IMPORTED_TARGET liburing>=2.3)
pkg_check_modules(cares REQUIRED IMPORTED_TARGET libcares>=1.18)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
# Messages may come compressed by these, too, where they are found.
pkg_check_modules(brotli QUIET IMPORTED_TARGET libbrotlienc libbrotlidec)
pkg_check_modules(snappy QUIET IMPORTED_TARGET snappy)
pkg_check_modules(lz4 QUIET IMPORTED_TARGET liblz4)

# Newer protobuf ships its own package file, which knows of its further dependencies.
find_package(protobuf CONFIG QUIET)
if(NOT protobuf_FOUND)
  find_package(Protobuf 3.21 REQUIRED MODULE)
endif()
