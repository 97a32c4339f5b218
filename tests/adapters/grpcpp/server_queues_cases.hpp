// The cases of server_queues_program.cpp: their server, and the tables.
#pragma once

#include "two_sided_cases.hpp"

#include <memory>
#include <string>

namespace call_kinds::server_queues {

// Methods of three kinds in one service.
class mixed_service final
    : public CallKinds::WithRawMethod_BidiStream<CallKinds::WithAsyncMethod_Unary<CallKinds::Service>> {
 public:
  grpc::Status ClientStream(grpc::ServerContext*, grpc::ServerReader<Position>* reader,
                            Summary* summary) override {
    Position position;
    while (reader->Read(&position)) summary->set_positions(summary->positions() + 1);
    return grpc::Status::OK;
  }
};

struct queue_services {
  CallKinds::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> other;  // of the first server
  mixed_service mixed;                                 // of the second server
};
using serving = two_servers<queue_services>;
using cases = two_sided_cases<serving>;

inline Note note_of(const std::string& text) {
  Note n;
  n.set_text(text);
  return n;
}

// What a unary call returns, in one line.
inline std::string found(calling& c, grpc::ClientContext& context, const Query& q) {
  Reply reply;
  const grpc::Status s = c.stub->Unary(&context, q, &reply);
  return shown(s) + " " + reply.name() + " " + std::to_string(reply.number()) + " " +
         own(context.GetServerInitialMetadata()) + " " + own(context.GetServerTrailingMetadata());
}
inline std::string found(calling& c, const std::string& ask = "hello") {
  grpc::ClientContext context;
  return found(c, context, query(ask));
}

cases unary_cases();
cases stream_cases();
cases server_cases();

}  // namespace call_kinds::server_queues
