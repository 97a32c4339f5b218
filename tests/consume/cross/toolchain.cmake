# Another machine, as far as CMake knows.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR elsewhere)
set(CMAKE_CXX_COMPILER g++)
