// What programs of cases with two sides share: a server that requests its calls by queues, and a client. Both
// go through the same cases in the same order, and print what they see in each. Compiled with both libraries.
#pragma once

#include "call_kinds.grpc.pb.h"
#include "program_cases.hpp"
#include "queue_cases.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace call_kinds {

// What the client has: a channel to the first server, and behind `second` one to the second server.
struct calling {
  explicit calling(const std::string& port)
      : channel(channel_to(port)), stub(CallKinds::NewStub(channel)), generic(channel) {}
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
  grpc::GenericStub generic;
  std::unique_ptr<calling> second;
};

// Two servers with a queue each. `Services` has the services, whose first one is `service`, with Unary() by
// request.
template <class Services>
struct two_servers : Services {
  using preparation = std::function<void(grpc::ServerBuilder&)>;
  // Null in `server` if it does not start. The results are the ports.
  int start(const preparation& prepare) { return start(owned, server, prepare); }
  int start_second(const preparation& prepare) { return start(of_second, second, prepare); }
  grpc::ServerCompletionQueue& queue() { return *owned; }

  std::unique_ptr<grpc::ServerCompletionQueue> owned;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::ServerCompletionQueue> of_second;
  std::unique_ptr<grpc::Server> second;

 private:
  static int start(std::unique_ptr<grpc::ServerCompletionQueue>& queue, std::unique_ptr<grpc::Server>& into,
                   const preparation& prepare) {
    int port = 0;
    into = start_server(port, [&](grpc::ServerBuilder& builder) {
      prepare(builder);
      queue = builder.AddCompletionQueue();
    });
    return port;
  }
};

// A case: what each side does with its name. The lines that it prints are "NAME: what" or
// "NAME / PART: what", with "server " before those of the server (tests/interop/grpcpp_relinked_test.py).
template <class Serving>
struct two_sided_case {
  const char* name;
  void (*serve)(Serving&, const std::string& name);
  void (*call)(calling&, const std::string& name);
};
template <class Serving>
using two_sided_cases = std::vector<two_sided_case<Serving>>;

template <class Serving>
void nothing_to_serve(Serving&, const std::string&) {}
inline void nothing_to_call(calling&, const std::string&) {}

// Prints the address of the first server, tells the client the port of the second one, and serves each case
// once. The result is the program's.
template <class Serving>
int serve_cases(Serving& s, int port, int second_port,
                const std::vector<two_sided_cases<Serving>>& of_all_kinds) {
  if (!s.server || !s.second) return 1;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  {
    held_unary call(s);
    call.next();
    Reply reply;
    reply.set_number(second_port);
    call.end(2, reply, grpc::Status::OK);
  }
  for (const auto& cases : of_all_kinds)
    for (const auto& c : cases) c.serve(s, std::string("server ") + c.name);
  return 0;
}

template <class Serving>
int call_cases(const std::string& port, const std::vector<two_sided_cases<Serving>>& of_all_kinds) {
  calling c(port);
  Reply reply;
  grpc::ClientContext context;
  if (!c.stub->Unary(&context, Query(), &reply).ok()) return 1;
  c.second = std::make_unique<calling>(std::to_string(reply.number()));
  for (const auto& cases : of_all_kinds)
    for (const auto& one : cases) one.call(c, one.name);
  return 0;
}

}  // namespace call_kinds
