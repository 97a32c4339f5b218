// Servers with queues: methods of several kinds in one service, and the shutdown.
#include "server_queues_cases.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace call_kinds::server_queues {
namespace {

// A raw call of the second server.
struct held_bytes : held_call<grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> {
  explicit held_bytes(serving& s) : held_call(*s.of_second) {
    s.mixed.RequestBidiStream(&context, &stream, s.of_second.get(), s.of_second.get(), tagged(1));
  }
};

using namespace std::chrono_literals;
using std::chrono::system_clock;

// --- the second server

void serve_queue_method(serving& s, const std::string& name) {
  held_unary call(s.mixed, *s.of_second, *s.of_second);
  const std::string begun = call.next();
  Reply reply;
  reply.set_number(3);
  const std::string ended = call.end(2, reply, grpc::Status::OK);
  say(name, s.mixed.has_async_methods(), s.mixed.has_synchronous_methods(), begun, call.asked.ask(), ended);
}

void call_queue_method(calling& c, const std::string& name) { say(name, found(*c.second)); }

void call_handler_method(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Summary summary;
  const auto writer = c.second->stub->ClientStream(&context, &summary);
  writer->Write(Position());
  writer->WritesDone();
  const grpc::Status s = writer->Finish();
  say(name, shown(s), summary.positions());
}

void call_missing_handler(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto reader = c.second->stub->ServerStream(&context, query("x"));
  Reply reply;
  const bool read = reader->Read(&reply);
  say(name, read, reader->Finish().error_code());
}

void serve_raw_method(serving& s, const std::string& name) {
  held_bytes call(s);
  std::string events = call.next();
  grpc::ByteBuffer message;
  events += " " + call.read(message, 2);
  events += " " + call.write(message, 3);
  const std::size_t length = message.Length();
  events += " " + call.read(message, 4);
  const std::string ended = call.end(5, grpc::Status::OK);
  say(name, events, length, ended);
}

void call_raw_method(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.second->stub->BidiStream(&context);
  stream->Write(note_of("as bytes"));
  Note note;
  const bool read = stream->Read(&note);
  stream->WritesDone();
  say(name, read, note.text(), shown(stream->Finish()));
}

// --- the end: a call that goes on, one that no request takes, and requests that get none

void serve_shutdown(serving& s, const std::string& name) {
  held_bidi_stream call(s);
  std::string events = call.next();
  Note note;
  events += " " + call.read(note, 2);  // comes after the call that no request takes
  held_server_stream list_wanted(s, 11);
  held_client_stream record_wanted(s, *s.other, 12);
  call.stream.Read(&note, tagged(3));
  std::thread ending([&] { s.server->Shutdown(system_clock::now() + 300ms); });
  const std::string wanted = call.next();
  const std::string wanted_other = taken(*s.other);
  const std::string ended = call.next(2);
  const bool cancelled = call.context.IsCancelled();
  ending.join();
  call.stream.Finish(grpc::Status::OK, tagged(4));
  const std::string finished = call.next();
  held_unary late(s, 13);
  const std::string refused = call.next();
  s.server->Shutdown();
  s.server->Wait();
  say(name, events, wanted, wanted_other, ended, cancelled, finished, refused);
  s.queue().Shutdown();
  s.other->Shutdown();
  const std::string drained = call.next();
  say(name + " / drained", drained, taken(*s.other));
}

void call_shutdown(calling& c, const std::string& name) {
  grpc::CompletionQueue queue;
        // By one queue, and so on one connection: the message of the second comes after the first.
  grpc::ClientContext of_unrequested;
  Reply reply;
  grpc::Status unrequested;
  c.stub->AsyncUnary(&of_unrequested, query("x"), &queue)->Finish(&reply, &unrequested, tagged(1));
  grpc::ClientContext context;
  const auto stream = c.stub->AsyncBidiStream(&context, &queue, tagged(2));
  const std::string began = taken(queue);
  stream->Write(note_of("hello"), tagged(3));
  const std::string wrote = taken(queue);
  Note note;
  stream->Read(&note, tagged(4));
  const std::string ended = taken_in_any_order(queue, 2);  // of two calls
  grpc::Status s;
  stream->Finish(&s, tagged(5));
  const std::string finished = taken(queue);
  say(name, began, wrote, ended, finished, s.error_code(), unrequested.error_code());
}

void serve_shutdown_without_calls(serving& s, const std::string& name) {
  held_unary wanted(s.mixed, *s.of_second, *s.of_second);
  s.second->Shutdown();
  s.of_second->Shutdown();
  const std::string refused = taken(*s.of_second);
  say(name, refused, taken(*s.of_second));
}

}  // namespace

cases server_cases() {
  return {{"mixed methods, queue", serve_queue_method, call_queue_method},
          {"mixed methods, handler", nothing_to_serve, call_handler_method},
          {"mixed methods, handler that does not exist", nothing_to_serve, call_missing_handler},
          {"mixed methods, raw", serve_raw_method, call_raw_method},
          {"shutdown", serve_shutdown, call_shutdown},
          {"shutdown of a server without calls", serve_shutdown_without_calls, nothing_to_call}};
}

}  // namespace call_kinds::server_queues
