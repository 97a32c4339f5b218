// Unary calls that a server requests by queues.
#include "server_queues_cases.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace call_kinds::server_queues {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

void call_unary(calling& c, const std::string& name) { say(name, found(c)); }

void serve_unary(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  const bool cancelled = call.context.IsCancelled();
  say(name, begun, call.asked.ask(), own(call.context.client_metadata()),
      call.context.peer().substr(0, call.context.peer().rfind(':')), cancelled,
      call.context.deadline() == system_clock::time_point::max());
  Reply reply;
  reply.set_name("of a queue");
  const std::string ended = call.end(2, reply, grpc::Status::OK);
  say(name + " / ended", ended, call.context.IsCancelled(), own(call.context.client_metadata()));
}

void call_unary_with_metadata(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.AddMetadata("own-a", "1");
  context.AddMetadata("own-a", "2");
  say(name, found(c, context, query("hello")));
}

void serve_without_notice(serving& s, const std::string& name) {
  held_unary call(s, 1, false);
  const std::string begun = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.context.AddTrailingMetadata("own-trailing", "b");
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
  const std::string ended = call.next();
  say(name, begun, ended);
}

void serve_error(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.stream.SendInitialMetadata(tagged(2));
  const std::string sent = call.next();
  call.context.AddTrailingMetadata("own-trailing", "b");
  call.stream.FinishWithError(grpc::Status(grpc::StatusCode::NOT_FOUND, "none", "details"), tagged(3));
  const std::string ended = call.next(2);
  say(name, begun, sent, ended, call.context.IsCancelled());
}

void serve_status_and_reply(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  const std::string ended = call.end(3, Reply(), grpc::Status(grpc::StatusCode::ABORTED, "no"));
  say(name, begun, ended);
}

// --- ends that the program does not choose

void serve_cancelled(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  call.stream.SendInitialMetadata(tagged(3));
    // The client may have cancelled before the event of what it has seen.
  const std::string sent_and_done = call.next_in_any_order(2);
  const bool cancelled = call.context.IsCancelled();
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
  const std::string ended = call.next();
  say(name, begun, sent_and_done, cancelled, ended, call.context.IsCancelled());
}

void call_deadline(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + 200ms);
  Reply reply;
  say(name, c.stub->Unary(&context, query("x"), &reply).error_code());
}

void call_cancelled_by_client(calling& c, const std::string& name) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Reply reply;
  grpc::Status status;
  const auto reader = c.stub->AsyncUnary(&context, query("x"), &queue);
  reader->ReadInitialMetadata(tagged(1));
  const std::string begun = taken(queue);
  context.TryCancel();
  reader->Finish(&reply, &status, tagged(2));
  const std::string ended = taken(queue);
  say(name, begun, ended, status.error_code());
}

void serve_cancelled_by_server(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  call.context.TryCancel();
  const std::string done = call.next();
  const bool cancelled = call.context.IsCancelled();
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
  const std::string ended = call.next();
  say(name, begun, done, cancelled, ended);
}

void call_cancelled_by_server(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Reply reply;
  say(name, c.stub->Unary(&context, query("x"), &reply).error_code());
}

void serve_unparsable_request(serving& s, const std::string& name) {
  held_unary call(s);
  const std::string begun = call.next();
  Reply reply;
  reply.set_name("the next one");
  const std::string ended = call.end(2, reply, grpc::Status::OK);
  say(name, begun, call.asked.ask(), ended);
}

void call_unparsable_request(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Reply reply;
  const Query invalid = query("\xff\xfe");  // a proto3 string that is not UTF-8
  say(name + " / first", c.stub->Unary(&context, invalid, &reply).error_code());
  say(name, found(c));
}

void serve_two_calls(serving& s, const std::string& name) {
  held_unary first(s, 1);
  held_unary second(s, 2);
  const std::string begun = taken(s.queue(), 2);
  const std::string of_second = second.end(3, Reply(), grpc::Status::OK);
  const std::string of_first = first.end(4, Reply(), grpc::Status::OK);
  say(name, begun, of_second, of_first);
}

void call_two_calls(calling& c, const std::string& name) {
  std::string of_first;
  std::thread first([&] { of_first = found(c, "a"); });
  const std::string of_second = found(c, "b");
  first.join();
  say(name, of_first, of_second);
}

void serve_two_queues(serving& s, const std::string& name) {
  held_unary call(s.service, s.queue(), *s.other);
  const std::string begun = taken(*s.other);
  const std::string ended = call.end(2, Reply(), grpc::Status::OK);
  say(name, begun, ended);
}

}  // namespace

cases unary_cases() {
  return {{"unary", serve_unary, call_unary_with_metadata},
          {"unary without notice", serve_without_notice, call_unary},
          {"unary error", serve_error, call_unary},
          {"unary with a status and a reply", serve_status_and_reply, call_unary},
          {"unary whose deadline passes", serve_cancelled, call_deadline},
          {"unary cancelled by the client", serve_cancelled, call_cancelled_by_client},
          {"unary cancelled by the server", serve_cancelled_by_server, call_cancelled_by_server},
          {"a request that does not parse", serve_unparsable_request, call_unparsable_request},
          {"two calls", serve_two_calls, call_two_calls},
          {"two queues", serve_two_queues, call_unary}};
}

}  // namespace call_kinds::server_queues
