// Channels and servers from a file descriptor, where tests/interop/grpcpp_features_test.py does not look.
#include "call_kinds_fixture.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace coracle::testing_support::descriptors_test {
namespace {

using call_kinds::CallKinds;
using call_kinds::Reply;
using grpc::StatusCode;

StatusCode found(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  Reply reply;
  return CallKinds::NewStub(channel)->Unary(&context, query_of("x"), &reply).error_code();
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) != -1; }

TEST(DescriptorChannels, FailAllCallsWithoutAConnectedSocket) {
  const int unconnected = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int descriptor : {-1, unconnected}) {
    const auto channel = grpc::CreateInsecureChannelFromFd("", descriptor);
    EXPECT_EQ(found(channel), StatusCode::UNAVAILABLE);
    EXPECT_EQ(found(channel), StatusCode::UNAVAILABLE);
  }
  EXPECT_FALSE(is_open(unconnected));
}

TEST(DescriptorChannels, AServerClosesWhatIsNoConnectedSocket) {
  call_kinds::call_kinds_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  grpc::AddInsecureChannelFromFd(server.get(), pipe[0]);
  grpc::AddInsecureChannelFromFd(server.get(), -1);
  EXPECT_FALSE(is_open(pipe[0]));
  ::close(pipe[1]);
}

TEST(DescriptorChannels, AConnectionEndsWithItsChannel) {
  call_kinds::call_kinds_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  for (int i = 0; i < 3; ++i) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    grpc::AddInsecureChannelFromFd(server.get(), ends[0]);
    EXPECT_EQ(found(grpc::CreateInsecureChannelFromFd("", ends[1])), StatusCode::OK);
  }
}

}  // namespace
}  // namespace coracle::testing_support::descriptors_test
