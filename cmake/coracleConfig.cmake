# What find_package(coracle) reads in an installed tree.
include(${CMAKE_CURRENT_LIST_DIR}/coracle_dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/coracle_targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/coracle_generate.cmake OPTIONAL)
