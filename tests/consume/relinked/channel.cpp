#include <grpcpp/grpcpp.h>

int main() {
  const auto channel = grpc::CreateChannel("unix:/nowhere", grpc::SslCredentials({}));
  return channel->GetState(false) == GRPC_CHANNEL_IDLE ? 0 : 1;
}
