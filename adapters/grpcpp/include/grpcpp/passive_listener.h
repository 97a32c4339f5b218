// Passive listeners, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::experimental {

class CORACLE_GRPCPP_ABSENT(
    "there are no passive listeners: use AddInsecureChannelFromFd(), or coracle::server::adopt()")
    PassiveListener;

}  // namespace grpc::experimental
