// bench_grpcpp_sync PORT [CERT KEY]: the unary methods of bench_greeter, on grpc++'s synchronous API.
#include "helloworld.grpc.pb.h"
#include "orders.grpc.pb.h"
#include "peers/grpcpp_serving.hpp"

namespace {

class greeter final : public helloworld::Greeter::Service {
  grpc::Status SayHello(grpc::ServerContext*, const helloworld::HelloRequest* request,
                        helloworld::HelloReply* reply) override {
    reply->set_message(request->name());
    return grpc::Status::OK;
  }
};

class order_echo final : public orders::Orders::Service {
  grpc::Status Echo(grpc::ServerContext*, const orders::Order* order, orders::Order* reply) override {
    *reply = *order;
    return grpc::Status::OK;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto credentials = bench::credentials_of("bench_grpcpp_sync", argc, argv);
  greeter greets;
  order_echo echoes;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], credentials, &port);
  builder.RegisterService(&greets);
  builder.RegisterService(&echoes);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  bench::announce(port);
  server->Wait();
}
