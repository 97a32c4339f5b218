# A toolchain file for Debian's cross compilers (crossbuild-essential-arm64 and so on), with libraries of the other architecture beside
# this machine's: cmake --toolchain cmake/cross.cmake -DCORACLE_CROSS=aarch64. ./dev arm64 and ./dev s390x use it in a chroot.
set(CORACLE_CROSS "aarch64" CACHE STRING "The processor to build for, as compilers call it: aarch64 or s390x")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORACLE_CROSS)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CORACLE_CROSS})
set(CMAKE_C_COMPILER ${CORACLE_CROSS}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${CORACLE_CROSS}-linux-gnu-g++)
# This machine's pkg-config, for the libraries of the other one.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${CORACLE_CROSS}-linux-gnu/pkgconfig:/usr/share/pkgconfig)
