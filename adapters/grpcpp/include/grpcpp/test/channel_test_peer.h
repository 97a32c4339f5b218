// ChannelTestPeer, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc::testing {

class CORACLE_GRPCPP_ABSENT(
    "there is no ChannelTestPeer, since there are no registered calls: test by what the server gets")
    ChannelTestPeer;

}  // namespace grpc::testing
