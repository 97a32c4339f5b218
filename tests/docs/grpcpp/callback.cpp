// What docs/guides/from_grpcpp.md starts from: the callback API. Compiled, and not run.
#include "greeter.grpc.pb.h"
#include "movie.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace callback_api {

// --8<-- [start:service]
class greeter final : public helloworld::Greeter::CallbackService {
  grpc::ServerUnaryReactor* SayHello(grpc::CallbackServerContext* context,
                                     const helloworld::HelloRequest* request,
                                     helloworld::HelloReply* reply) override {
    reply->set_message("Hello, " + request->name());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};
// --8<-- [end:service]

// --8<-- [start:stream]
class listing final : public grpc::ServerWriteReactor<movie::Movie> {
 public:
  listing() { write_next(); }
  void OnWriteDone(bool ok) override {
    if (ok) write_next();
    else Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void write_next() {
    if (year_ > 1994) return Finish(grpc::Status::OK);
    movie_.set_year_of_production(year_++);
    StartWrite(&movie_);
  }
  movie::Movie movie_;
  int year_ = 1993;
};

class movies final : public movie::MovieService::CallbackService {
  grpc::ServerWriteReactor<movie::Movie>* ListMovies(grpc::CallbackServerContext*,
                                                     const movie::ListMoviesRequest*) override {
    return new listing;
  }
};
// --8<-- [end:stream]

// --8<-- [start:client]
void say_hello(helloworld::Greeter::Stub& stub, const std::string& name,
               std::function<void(grpc::Status, std::string)> done) {
  struct call {
    grpc::ClientContext context;
    helloworld::HelloRequest request;
    helloworld::HelloReply reply;
  };
  auto one = std::make_shared<call>();  // all of it has to outlive the call
  one->request.set_name(name);
  stub.async()->SayHello(
      &one->context, &one->request, &one->reply,
      [one, done = std::move(done)](grpc::Status status) { done(std::move(status), one->reply.message()); });
}
// --8<-- [end:client]

std::unique_ptr<grpc::Service> make_greeter() { return std::make_unique<greeter>(); }
std::unique_ptr<grpc::Service> make_movies() { return std::make_unique<movies>(); }

}  // namespace callback_api
