// The channel of interceptors, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::internal {

class CORACLE_GRPCPP_ABSENT(
    "there is no channel between interceptors to name: use grpcpp/support/client_interceptor.h")
    InterceptedChannel;

}  // namespace grpc::internal
