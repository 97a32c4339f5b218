// harbour_fixture: a harbour service on a port, and a channel to it.
#pragma once

#include "harbour_service.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace coracle::testing_support {

inline harbour::Query harbour_query(const std::string& ask, int number = 0, std::string load = "") {
  harbour::Query q;
  q.set_ask(ask);
  q.set_number(number);
  q.set_load(std::move(load));
  return q;
}

template <class Service = harbour::harbour_service>
class harbour_fixture : public ::testing::Test {
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
    stub = harbour::Harbour::NewStub(channel);
  }
  grpc::Status find(
      const harbour::Query& query, harbour::Ship& ship,
      const std::function<void(grpc::ClientContext&)>& prepare = [](grpc::ClientContext&) {}) {
    grpc::ClientContext context;
    prepare(context);
    return stub->Find(&context, query, &ship);
  }

  Service service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<harbour::Harbour::Stub> stub;
};

}  // namespace coracle::testing_support
