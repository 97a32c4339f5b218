// Its arguments by Abseil, as grpc's own examples have theirs: the package of grpc++ brings that along.
#include <absl/flags/flag.h>
#include <absl/flags/parse.h>
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>

ABSL_FLAG(std::string, target, "localhost:50051", "the server");

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const auto channel = grpc::CreateChannel(absl::GetFlag(FLAGS_target), grpc::InsecureChannelCredentials());
  std::cout << absl::GetFlag(FLAGS_target) << (channel ? " has a channel\n" : " has none\n");
}
