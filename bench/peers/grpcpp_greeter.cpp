// bench_grpcpp_greeter PORT [CERT KEY]: bench_greeter's unary methods on grpc++'s asynchronous API, as in its
// documentation: one completion queue, one thread, many outstanding requests, and each call's object is
// reused.
#include "helloworld.grpc.pb.h"
#include "orders.grpc.pb.h"
#include "peers/grpcpp_serving.hpp"

#include <deque>
#include <optional>

namespace {

using greeter = helloworld::Greeter::AsyncService;
using order_echo = orders::Orders::AsyncService;

class outstanding_call {
 public:
  virtual ~outstanding_call() = default;
  // The pending operation of this tag has ended.
  virtual void proceed(bool ok) = 0;
};

template <class Service, class Request, class Reply, auto Ask, auto Answer>
class call final : public outstanding_call {
 public:
  call(Service& s, grpc::ServerCompletionQueue& queue) : service_(s), queue_(queue) { request(); }

  void proceed(bool ok) override {
    if (answering_) return request();
    if (!ok) return;  // the server shuts down
    answering_ = true;
    responder_->Finish(Answer(request_, reply_), grpc::Status::OK, static_cast<outstanding_call*>(this));
  }

 private:
  void request() {
    answering_ = false;
    responder_.reset();
    context_.emplace();
    responder_.emplace(&*context_);
    (service_.*Ask)(&*context_, &request_, &*responder_, &queue_, &queue_,
                    static_cast<outstanding_call*>(this));
  }

  Service& service_;
  grpc::ServerCompletionQueue& queue_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<Reply>> responder_;
  Request request_;
  Reply reply_;
  bool answering_ = false;
};

const helloworld::HelloReply& greet(const helloworld::HelloRequest& request, helloworld::HelloReply& reply) {
  reply.set_message(request.name());
  return reply;
}
const orders::Order& echo(const orders::Order& order, orders::Order&) { return order; }

using greeting =
    call<greeter, helloworld::HelloRequest, helloworld::HelloReply, &greeter::RequestSayHello, &greet>;
using ordering = call<order_echo, orders::Order, orders::Order, &order_echo::RequestEcho, &echo>;

}  // namespace

int main(int argc, char** argv) {
  const auto credentials = bench::credentials_of("bench_grpcpp_greeter", argc, argv);
  greeter greets;
  order_echo echoes;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], credentials, &port);
  builder.RegisterService(&greets);
  builder.RegisterService(&echoes);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  bench::announce(port);

  constexpr int outstanding = 1000;  // as many as the generators have on the way: none waits for its turn
  std::deque<greeting> greetings;
  std::deque<ordering> orderings;
  for (int i = 0; i < outstanding; ++i) {
    greetings.emplace_back(greets, *queue);
    orderings.emplace_back(echoes, *queue);
  }
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<outstanding_call*>(tag)->proceed(ok);
}
