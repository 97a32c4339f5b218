// A plugin that makes a channel.
#include <grpcpp/grpcpp.h>

extern "C" int make_channel() {
  const auto channel = grpc::CreateChannel("unix:/nowhere", grpc::InsecureChannelCredentials());
  return channel->GetState(false) == GRPC_CHANNEL_IDLE ? 0 : 1;
}
