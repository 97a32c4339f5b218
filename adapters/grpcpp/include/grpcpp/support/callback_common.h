// Operations of calls, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::internal {

class CORACLE_GRPCPP_ABSENT(
    "there are no operations of calls: use the functions of stubs, contexts and streams")
    CallbackWithStatusTag;
class CORACLE_GRPCPP_ABSENT(
    "there are no operations of calls: use the functions of stubs, contexts and streams")
    CallbackWithSuccessTag;

}  // namespace grpc::internal
