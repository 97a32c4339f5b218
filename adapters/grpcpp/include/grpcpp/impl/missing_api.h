// missing_api(): ends a program that uses what does not exist yet.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::internal {

// Writes one line, which names the API, and aborts: for functions that generated code calls although no
// program can use their results.
[[noreturn]] void missing_api(const char* name);

}  // namespace grpc::internal
