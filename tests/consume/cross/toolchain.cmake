# Another machine, as far as CMake knows.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)  # it has no flags of its own
set(CMAKE_CXX_COMPILER g++)
