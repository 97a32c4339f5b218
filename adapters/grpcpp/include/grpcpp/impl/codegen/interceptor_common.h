// Batches for interceptors, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>
#include <grpcpp/support/interceptor.h>

namespace grpc::internal {

class CORACLE_GRPCPP_ABSENT("there are no batches for interceptors to make: use grpcpp/support/interceptor.h")
    InterceptorBatchMethodsImpl;

}  // namespace grpc::internal
