// A program in the API of grpc++, compiled with both libraries: a server that requests its calls by queues,
// and a client. Both go through the same cases in the same order, and print what they see in each as
// "case: what".
//
//   server_queues_program server           prints its address, and serves each case once
//   server_queues_program client PORT
//   server_queues_program twice SIDE     a call that its server, or its client, finishes twice; one process
#include "server_queues_cases.hpp"

#include <string>
#include <vector>

namespace call_kinds::server_queues {
namespace {

std::vector<cases> all_cases() { return {unary_cases(), stream_cases(), server_cases()}; }

int run_server() {
  serving s;
  const int port = s.start([&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.service);
    s.other = builder.AddCompletionQueue();
  });
  const int second_port =
      s.start_second([&s](grpc::ServerBuilder& builder) { builder.RegisterService(&s.mixed); });
  return serve_cases(s, port, second_port, all_cases());
}

int run_client(const std::string& port) { return call_cases(port, all_cases()); }

// --- what grpc++ does not let a program do

int run_twice(const std::string& side) {
  serving s;
  const int port = s.start([&s](grpc::ServerBuilder& builder) { builder.RegisterService(&s.service); });
  grpc::CompletionQueue queue;
  const auto stub = CallKinds::NewStub(channel_to(std::to_string(port)));
  grpc::ClientContext context;
  grpc::Status status;
  if (side == "server") {
    held_unary call(s, 1, false);
    Reply reply;
    stub->AsyncUnary(&context, query("x"), &queue)->Finish(&reply, &status, tagged(5));
    std::string events = call.next();
    call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
    events += " " + call.next() + " " + taken(queue);
    call.stream.FinishWithError(grpc::Status::CANCELLED, tagged(3));
    events += " " + call.next();
    say("finished twice", events, status.error_code());
  } else {
    context.TryCancel();
    const auto reader = stub->AsyncServerStream(&context, query("x"), &queue, tagged(1));
    std::string events = taken(queue);
    for (const int tag : {2, 3}) {
      status = grpc::Status::OK;
      reader->Finish(&status, tagged(tag));
      events += " " + taken(queue);
    }
    say("finished twice", events, status.error_code());
  }
  s.server->Shutdown();
  s.queue().Shutdown();
  return 0;
}

const program entry("server_queues",
                    {{"server", run_server}, {"client", "PORT", run_client}, {"twice", "SIDE", run_twice}});

}  // namespace
}  // namespace call_kinds::server_queues
