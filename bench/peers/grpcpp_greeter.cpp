// bench_grpcpp_greeter PORT: the greeter on grpc++'s asynchronous API, as its documentation has it: one
// completion queue, one thread, many requests outstanding, and each call's object used again.
#include "helloworld.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace {

using service = helloworld::Greeter::AsyncService;

class call {
 public:
  call(service& s, grpc::ServerCompletionQueue& queue) : service_(s), queue_(queue) { request(); }

  // The operation that was under way for this tag has ended.
  void proceed(bool ok) {
    if (answering_) return request();
    if (!ok) return;  // the server shuts down
    answering_ = true;
    reply_.set_message(request_.name());
    responder_->Finish(reply_, grpc::Status::OK, this);
  }

 private:
  void request() {
    answering_ = false;
    responder_.reset();
    context_.emplace();
    responder_.emplace(&*context_);
    service_.RequestSayHello(&*context_, &request_, &*responder_, &queue_, &queue_, this);
  }

  service& service_;
  grpc::ServerCompletionQueue& queue_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<helloworld::HelloReply>> responder_;
  helloworld::HelloRequest request_;
  helloworld::HelloReply reply_;
  bool answering_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_grpcpp_greeter PORT\n", stderr);
    return 2;
  }
  service greeter;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&greeter);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);

  constexpr int outstanding = 1000;  // as many as the generators have on the way: none waits for its turn
  std::deque<call> calls;
  for (int i = 0; i < outstanding; ++i) calls.emplace_back(greeter, *queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<call*>(tag)->proceed(ok);
}
