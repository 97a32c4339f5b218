// Ends of calls to an AsyncGenericService: deadlines, cancellation and shutdown.
#include "generic_cases.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace call_kinds::generic {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

// --- ends that the program does not choose

void serve_cancelled(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  ByteBuffer message;
  std::string got = call.read(message, 2);
  got += " " + call.write(message, 6);
  call.stream.Read(&message, tagged(3));
  const std::string done = call.next(2);
  const bool cancelled = call.context.IsCancelled();
  call.stream.Write(message, tagged(4));
  const std::string written = call.next();
  call.stream.Finish(grpc::Status::OK, tagged(5));
  say(name, begun, got, done, cancelled, written, call.next());
}

void call_deadline(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + 200ms);
  const auto stream = c.stub->BidiStream(&context);
  stream->Write(Note());
  Note note;
  const bool first = stream->Read(&note);
  const bool second = stream->Read(&note);
  say(name, first, second, stream->Finish().error_code());
}

void call_cancelled_by_client(calling& c, const std::string& name) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto stream = c.generic.PrepareCall(&context, "/any.Service/Stream", &queue);
  stream->StartCall(tagged(1));
  std::string events = taken(queue);
  stream->Write(bytes("hello"), tagged(2));
  events += " " + taken(queue);
  ByteBuffer message;
  stream->Read(&message, tagged(4));
  events += " " + taken(queue);
  events += " " + text_of(message);
  context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, tagged(3));
  const std::string ended = taken(queue);
  say(name, events, ended, status.error_code());
}

void serve_cancelled_by_server(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  call.context.TryCancel();
  const std::string done = call.next();
  call.stream.Finish(grpc::Status::OK, tagged(2));
  say(name, begun, done, call.context.IsCancelled(), call.next());
}

void call_cancelled_by_server(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  Note note;
  const bool got = stream->Read(&note);
  say(name, got, stream->Finish().error_code());
}

void serve_deadline_of_client(serving& s, const std::string& name) {
  held call(s, 1, false);
  const std::string begun = call.next();
  const auto left = call.context.deadline() - system_clock::now();
  call.stream.WriteAndFinish(bytes(""), grpc::WriteOptions(), grpc::Status::OK, tagged(2));
  say(name, begun, left > 50s && left < 150s, call.next());
}

void call_deadline_of_client(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + 100s);
  say(name, answer(c, context, "/any.Service/Method", ""));
}

// --- the end: a call that goes on, and requests that get none

void serve_shutdown(serving& s, const std::string& name) {
  held call(s);
  std::string events = call.next();
  held wanted(s, 11);
  std::thread ending([&] { s.server->Shutdown(); });
  const std::string refused = call.next();
  events += " " + call.write(bytes_of(Note()), 2);
  const std::string ended = call.end(3, grpc::Status::OK);
  ending.join();
  held late(s, 13);
  const std::string too_late = call.next();
  s.queue().Shutdown();
  say(name, events, refused, wanted.context.method().empty(), ended, too_late, call.next());
  s.second->Shutdown();
  s.of_second->Shutdown();
  say(name + " / of the second", taken(*s.of_second));
}

void call_shutdown(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  Note note;
  const bool got = stream->Read(&note);
  say(name, got, shown(stream->Finish()));
}

}  // namespace

cases end_cases() {
  return {{"deadline", serve_cancelled, call_deadline},
          {"cancelled by the client", serve_cancelled, call_cancelled_by_client},
          {"cancelled by the server", serve_cancelled_by_server, call_cancelled_by_server},
          {"deadline of the client", serve_deadline_of_client, call_deadline_of_client},
          {"shutdown", serve_shutdown, call_shutdown}};
}

}  // namespace call_kinds::generic
