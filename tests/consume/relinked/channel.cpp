// As programs spelled it once.
#include <grpc++/grpc++.h>
#include <grpc++/support/status.h>

int main() {
  const auto channel = grpc::CreateChannel("unix:/nowhere", grpc::SslCredentials({}));
  return channel->GetState(false) == GRPC_CHANNEL_IDLE ? 0 : 1;
}
