// Names of types that older programs use.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <string>

namespace grpc {

using std::string;
using std::to_string;

}  // namespace grpc
