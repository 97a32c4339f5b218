// A greeter and its client, with what servers of grpc++ usually have: health, reflection and channelz.
#include "hello.grpc.pb.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <iostream>
#include <memory>
#include <string>

using grpc::ClientContext;
using grpc::Server;
using grpc::ServerBuilder;
using grpc::ServerContext;
using grpc::Status;
using hello::Greeter;
using hello::HelloReply;
using hello::HelloRequest;

class GreeterServiceImpl final : public Greeter::Service {
  Status SayHello(ServerContext*, const HelloRequest* request, HelloReply* reply) override {
    reply->set_message("Hello " + request->name());
    return Status::OK;
  }
};

int main() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::channelz::experimental::InitChannelzService();
  GreeterServiceImpl service;
  ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("0.0.0.0:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  std::unique_ptr<Server> server(builder.BuildAndStart());
  server->GetHealthCheckService()->SetServingStatus("hello.Greeter", true);

  auto stub = Greeter::NewStub(
      grpc::CreateChannel("localhost:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  ClientContext context;
  HelloRequest request;
  request.set_name("world");
  HelloReply reply;
  const Status status = stub->SayHello(&context, request, &reply);
  std::cout << (status.ok() ? reply.message() : status.error_message()) << std::endl;
  server->Shutdown();
  server->Wait();
  return status.ok() ? 0 : 1;
}
