// bench_grpcpp_agrpc PORT [CERT KEY]: the unary methods of bench_greeter, on asio-grpc's API: one context,
// one thread, and a coroutine for each call.
#include "helloworld.grpc.pb.h"
#include "orders.grpc.pb.h"
#include "peers/grpcpp_serving.hpp"

#include <agrpc/asio_grpc.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/detached.hpp>

namespace {

namespace asio = boost::asio;
using greeter = helloworld::Greeter::AsyncService;
using order_echo = orders::Orders::AsyncService;
using greeting = agrpc::ServerRPC<&greeter::RequestSayHello>;
using ordering = agrpc::ServerRPC<&order_echo::RequestEcho>;

asio::awaitable<void> greet(greeting& rpc, greeting::Request& request) {
  greeting::Response reply;
  reply.set_message(request.name());
  co_await rpc.finish(reply, grpc::Status::OK);
}
asio::awaitable<void> echo(ordering& rpc, ordering::Request& order) {
  co_await rpc.finish(order, grpc::Status::OK);
}

}  // namespace

int main(int argc, char** argv) {
  const auto credentials = bench::credentials_of("bench_grpcpp_agrpc", argc, argv);
  greeter greets;
  order_echo echoes;
  std::unique_ptr<grpc::Server> server;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], credentials, &port);
  builder.RegisterService(&greets);
  builder.RegisterService(&echoes);
  agrpc::GrpcContext context(builder.AddCompletionQueue());
  server = builder.BuildAndStart();
  if (!server) return 1;
  bench::announce(port);
  agrpc::register_awaitable_rpc_handler<greeting>(context, greets, &greet, asio::detached);
  agrpc::register_awaitable_rpc_handler<ordering>(context, echoes, &echo, asio::detached);
  context.run();
}
