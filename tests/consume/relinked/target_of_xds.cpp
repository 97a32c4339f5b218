// Names no more of xDS than a target. A channel has failed from the start if the program has nothing of it.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <iostream>

int main() {
  const auto channel = grpc::CreateChannel("xds:///shop", grpc::InsecureChannelCredentials());
  std::cout << (channel->GetState(false) == GRPC_CHANNEL_IDLE ? "xDS\n" : "no xDS\n");
}
