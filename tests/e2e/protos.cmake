coracle_generate(TARGET e2e_tests FAKES PROTOS catalog/part.proto catalog/price.proto catalog/catalog.proto
  catalog/small.proto IMPORT_DIRS ${CMAKE_CURRENT_LIST_DIR})
# Beside the library's own classes of the same definitions.
coracle_generate(TARGET e2e_tests PROTOS grpc/health/v1/health.proto grpc/reflection/v1/reflection.proto
  grpc/channelz/v1/channelz.proto grpc/binarylog/v1/binarylog.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/proto OUT_DIR generated/e2e_services)
# What other programs make of a status' details; the library has no classes of these.
coracle_generate(TARGET e2e_tests PROTOS google/rpc/code.proto google/rpc/error_details.proto google/rpc/status.proto
  IMPORT_DIRS ${PROJECT_SOURCE_DIR}/proto OUT_DIR generated/e2e_google_rpc)
