// bench_grpcpp_callback PORT [CERT KEY]: the services of bench_greeter, on grpc++'s callback API and its own
// threads.
#include "helloworld.grpc.pb.h"
#include "idle.grpc.pb.h"
#include "orders.grpc.pb.h"
#include "peers/grpcpp_serving.hpp"

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

class order_echo final : public orders::Orders::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const orders::Order* order,
                                 orders::Order* reply) override {
    *reply = *order;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class holding final : public grpc::ServerBidiReactor<idle::Msg, idle::Msg> {
 public:
  holding() { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (ok) StartWrite(&message_);
    else Finish(grpc::Status::OK);
  }
  void OnWriteDone(bool ok) override {
    if (ok) StartRead(&message_);
    else Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  idle::Msg message_;
};

class idle_streams final : public idle::Idle::CallbackService {
  grpc::ServerBidiReactor<idle::Msg, idle::Msg>* Hold(grpc::CallbackServerContext*) override {
    return new holding;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto credentials = bench::credentials_of("bench_grpcpp_callback", argc, argv);
  greeter greets;
  order_echo echoes;
  idle_streams holds;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], credentials, &port);
  builder.RegisterService(&greets);
  builder.RegisterService(&echoes);
  builder.RegisterService(&holds);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  bench::announce(port);
  server->Wait();
}
