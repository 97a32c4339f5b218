// What docs/guides/from_grpcpp.md starts from: the synchronous API. Compiled, and not run.
#include "greeter.grpc.pb.h"
#include "movie.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

namespace sync_api {

// --8<-- [start:service]
class greeter final : public helloworld::Greeter::Service {
  grpc::Status SayHello(grpc::ServerContext* context, const helloworld::HelloRequest* request,
                        helloworld::HelloReply* reply) override {
    if (request->name().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "name must not be empty"};
    context->AddTrailingMetadata("x-served-by", "grpc++");
    reply->set_message("Hello, " + request->name());
    return grpc::Status::OK;
  }
};
// --8<-- [end:service]

// --8<-- [start:server]
void serve(const std::string& address) {
  greeter service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  server->Wait();  // until another thread calls Shutdown()
}
// --8<-- [end:server]

// --8<-- [start:client]
std::string greet(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  const auto stub = helloworld::Greeter::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  context.AddMetadata("x-who", "ada");
  helloworld::HelloRequest request;
  request.set_name(name);
  helloworld::HelloReply reply;
  const grpc::Status status = stub->SayHello(&context, request, &reply);
  return status.ok() ? reply.message() : status.error_message();
}
// --8<-- [end:client]

// --8<-- [start:streams]
class movies final : public movie::MovieService::Service {
  grpc::Status ListMovies(grpc::ServerContext*, const movie::ListMoviesRequest*,
                          grpc::ServerWriter<movie::Movie>* writer) override {
    movie::Movie movie;
    for (int year = 1993; year <= 1994; ++year) {
      movie.set_year_of_production(year);
      if (!writer->Write(movie))
        return grpc::Status::CANCELLED;  // blocks a thread while the client does not read
    }
    return grpc::Status::OK;
  }
};

int list(movie::MovieService::Stub& stub) {
  grpc::ClientContext context;
  const auto reader = stub.ListMovies(&context, movie::ListMoviesRequest());
  movie::Movie movie;
  int count = 0;
  while (reader->Read(&movie)) ++count;
  return reader->Finish().ok() ? count : -1;
}
// --8<-- [end:streams]

std::unique_ptr<grpc::Service> make_movies() { return std::make_unique<movies>(); }

}  // namespace sync_api
