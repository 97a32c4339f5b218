// What docs/guides/from_grpcpp.md starts from: the completion queue. Compiled, and not run.
#include "greeter.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace queue_api {

// --8<-- [start:call]
class call {
 public:
  call(helloworld::Greeter::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), responder_(&context_) {
    service_.RequestSayHello(&context_, &request_, &responder_, &queue_, &queue_, this);
  }
  void proceed(bool ok) {
    if (answered_ || !ok) {
      delete this;
      return;
    }
    new call(service_, queue_);  // for the next one
    answered_ = true;
    reply_.set_message("Hello, " + request_.name());
    responder_.Finish(reply_, grpc::Status::OK, this);
  }

 private:
  helloworld::Greeter::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  helloworld::HelloRequest request_;
  helloworld::HelloReply reply_;
  grpc::ServerAsyncResponseWriter<helloworld::HelloReply> responder_;
  bool answered_ = false;
};

void drive(helloworld::Greeter::AsyncService& service, grpc::ServerCompletionQueue& queue) {
  new call(service, queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) static_cast<call*>(tag)->proceed(ok);
}
// --8<-- [end:call]

// --8<-- [start:client]
struct pending {
  grpc::ClientContext context;
  helloworld::HelloReply reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<helloworld::HelloReply>> reader;
};

void start(helloworld::Greeter::Stub& stub, grpc::CompletionQueue& queue, const std::string& name) {
  helloworld::HelloRequest request;
  request.set_name(name);
  auto* const one = new pending;
  one->reader = stub.AsyncSayHello(&one->context, request, &queue);
  one->reader->Finish(&one->reply, &one->status, one);
}

int collect(grpc::CompletionQueue& queue, int calls) {
  int greeted = 0;
  void* tag = nullptr;
  bool ok = false;
  for (; calls > 0 && queue.Next(&tag, &ok); --calls) {
    const std::unique_ptr<pending> one(static_cast<pending*>(tag));
    if (one->status.ok()) ++greeted;
  }
  return greeted;
}
// --8<-- [end:client]

}  // namespace queue_api
