// A greeter and its client, in one GrpcContext.
#include "hello.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <agrpc/asio_grpc.hpp>
#include <agrpc/client_callback.hpp>
#include <agrpc/server_callback.hpp>
#include <asio.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

using hello::Greeter;
using server_rpc = agrpc::ServerRPC<&Greeter::AsyncService::RequestSayHello>;
using client_rpc = agrpc::ClientRPC<&Greeter::Stub::PrepareAsyncSayHello>;

asio::awaitable<void> answer(server_rpc& rpc, hello::HelloRequest& request) {
  hello::HelloReply reply;
  reply.set_message("Hello " + request.name());
  co_await rpc.finish(reply, grpc::Status::OK);
}

asio::awaitable<void> ask(agrpc::GrpcContext& grpc_context, Greeter::Stub& stub) {
  grpc::ClientContext client_context;
  hello::HelloRequest request;
  request.set_name("world");
  hello::HelloReply reply;
  const grpc::Status status =
      co_await client_rpc::request(grpc_context, stub, client_context, request, reply);
  std::cout << (status.ok() ? reply.message() : status.error_message()) << std::endl;
}

int main() {
  Greeter::AsyncService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("localhost:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  agrpc::GrpcContext grpc_context{builder.AddCompletionQueue()};
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  agrpc::register_awaitable_rpc_handler<server_rpc>(grpc_context, service, answer, asio::detached);

  const auto stub = Greeter::NewStub(
      grpc::CreateChannel("localhost:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  std::thread shutting_down;
  asio::co_spawn(grpc_context, ask(grpc_context, *stub), [&](const std::exception_ptr& error) {
    shutting_down = std::thread([&] { server->Shutdown(); });
    if (error) std::rethrow_exception(error);
  });
  grpc_context.run();
  shutting_down.join();
}
