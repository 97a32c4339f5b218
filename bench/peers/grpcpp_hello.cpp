// bench_grpcpp_hello PORT: bench_hello on grpc++'s callback API.
#include "helloworld.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

class greeter final : public helloworld::Greeter::CallbackService {
  grpc::ServerUnaryReactor* SayHello(grpc::CallbackServerContext* context,
                                     const helloworld::HelloRequest* request,
                                     helloworld::HelloReply* reply) override {
    reply->set_message(request->name());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_grpcpp_hello PORT\n", stderr);
    return 2;
  }
  greeter greets;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&greets);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
}
