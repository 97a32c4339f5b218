// A program that uses a library with Google's C core before it makes a channel.
#include <grpcpp/grpcpp.h>

extern "C" void use_the_core();

int main() {
  use_the_core();
  const auto channel = grpc::CreateChannel("unix:/nowhere", grpc::InsecureChannelCredentials());
  return channel->GetState(false) == GRPC_CHANNEL_IDLE ? 0 : 1;
}
