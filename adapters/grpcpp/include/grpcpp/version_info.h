// The version of grpc++ whose API this is, for programs that ask by the preprocessor. grpc::Version() returns Coracle's.
#pragma once

#include <grpcpp/impl/one_library.h>

#define GRPC_CPP_VERSION_MAJOR 1
#define GRPC_CPP_VERSION_MINOR 51
#define GRPC_CPP_VERSION_PATCH 1
#define GRPC_CPP_VERSION_TAG ""
#define GRPC_CPP_VERSION_STRING "1.51.1"
