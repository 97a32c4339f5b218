// call_kinds_fixture: a server of CallKinds on a port, and a channel to it.
#pragma once

#include "call_kinds_service.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace coracle::testing_support {

inline call_kinds::Query query_of(const std::string& ask, int number = 0, std::string load = "") {
  call_kinds::Query q;
  q.set_ask(ask);
  q.set_number(number);
  q.set_load(std::move(load));
  return q;
}

template <class Service = call_kinds::call_kinds_service>
class call_kinds_fixture : public ::testing::Test {
 protected:
  using preparation = std::function<void(grpc::ServerBuilder&)>;
  // Starts the server, and makes the stub. A service of generic calls is registered by `prepare`.
  void start(
      const preparation& prepare = [](grpc::ServerBuilder&) {},
      const std::shared_ptr<grpc::ServerCredentials>& of_server = grpc::InsecureServerCredentials(),
      const std::shared_ptr<grpc::ChannelCredentials>& of_client = grpc::InsecureChannelCredentials(),
      const grpc::ChannelArguments& arguments = {}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", of_server, &port);
    if constexpr (std::is_base_of_v<grpc::Service, Service>) builder.RegisterService(&service);
    prepare(builder);
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    ASSERT_NE(port, 0);
    connect(of_client, arguments);
  }
  void connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials,
               const grpc::ChannelArguments& arguments = {}) {
    channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), credentials, arguments);
    stub = call_kinds::CallKinds::NewStub(channel);
  }
  grpc::Status find(
      const call_kinds::Query& query, call_kinds::Reply& reply,
      const std::function<void(grpc::ClientContext&)>& prepare = [](grpc::ClientContext&) {}) {
    grpc::ClientContext context;
    prepare(context);
    return stub->Unary(&context, query, &reply);
  }

  Service service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<call_kinds::CallKinds::Stub> stub;
};

}  // namespace coracle::testing_support
