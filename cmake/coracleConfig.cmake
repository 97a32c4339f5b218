# What find_package(coracle) reads in an installed tree.
include(${CMAKE_CURRENT_LIST_DIR}/coracle_dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/coracle_targets.cmake)
# coracle::tls, for who has OpenSSL.
find_package(OpenSSL 3.0 QUIET COMPONENTS SSL Crypto)
if(OpenSSL_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/coracle_tls_targets.cmake)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/coracle_generate.cmake OPTIONAL)
