// Calls of one message to an AsyncGenericService, and which calls it gets.
#include "generic_cases.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace call_kinds::generic {
namespace {

using std::chrono::system_clock;

// --- calls of one message

void serve_unary(serving& s, const std::string& name) {
  held call(s);
  const bool empty = grpc::GenericServerContext().method().empty();
  const std::string begun = call.next();
  say(name, empty, begun, call.context.method(), own(call.context.client_metadata()),
      call.context.peer().substr(0, call.context.peer().rfind(':')), call.context.IsCancelled(),
      call.context.deadline() == system_clock::time_point::max());
  ByteBuffer message;
  const std::string first = call.read(message, 2);
  const std::string text = text_of(message);
  const std::string second = call.read(message, 3);
  const std::string written = call.write(bytes("re: " + text), 4);
  const std::string ended = call.end(5, grpc::Status::OK);
  say(name + " / ended", first, text, second, written, ended, call.context.IsCancelled(),
      call.context.method());
}

void call_unary(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.AddMetadata("own-a", "1");
  context.AddMetadata("own-a", "2");
  say(name, answer(c, context, "/any.Service/Method", "hello"));
}

void serve_host(serving& s, const std::string& name) {
  std::string seen;
  for (int i = 0; i < 2; ++i) {
    seen += grpc::GenericServerContext().host().empty() ? " empty " : " set ";
    held call(s, 1, false);
    seen += taken(s.queue());
    const std::string host = call.context.host();
    seen += " " + host.substr(0, host.rfind(':'));
    call.stream.WriteAndFinish(bytes(""), grpc::WriteOptions(), grpc::Status::OK, tagged(2));
    seen += " " + taken(s.queue()) + (call.context.host() == host ? " same" : " other");
  }
  say(name, seen);
}

void call_host(calling& c, const std::string& name) {
  const std::string first = answer(c, "/any.Service/Method");
  grpc::ClientContext context;
  context.set_authority("own.example:1");
  say(name, first, answer(c, context, "/any.Service/Method", "hello"));
}

void serve_at_once(serving& s, const std::string& name) {
  held call(s, 1, false);
  const std::string begun = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.context.AddTrailingMetadata("own-trailing", "b");
  call.stream.WriteAndFinish(bytes("here"), grpc::WriteOptions(), grpc::Status::OK, tagged(2));
  const std::string ended = call.next();
  say(name, begun, call.context.method(), ended);
}

void call_at_once(calling& c, const std::string& name) { say(name, answer(c, "/x.y.z.S/m")); }

void serve_error(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  call.context.AddInitialMetadata("own-initial", "a");
  call.context.AddTrailingMetadata("own-trailing", "b");
  const std::string ended = call.end(3, grpc::Status(grpc::StatusCode::NOT_FOUND, "none", "details"));
  say(name, begun, ended, call.context.IsCancelled());
}

void call_error(calling& c, const std::string& name) { say(name, answer(c, "/any.Service/Fails")); }

void serve_without_reply(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  const std::string ended = call.end(3, grpc::Status::OK);
  say(name, begun, ended);
}

void call_without_reply(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Reply reply;
  const auto stub = Unimplemented::NewStub(c.channel);
  say(name, stub->Call(&context, Query(), &reply).ok());
}

void serve_empty_message(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  ByteBuffer message = bytes("something");
  const std::string got = call.read(message, 2);
  const std::size_t length = message.Length();
  const std::string written = call.write(bytes(""), 3);
  const std::string ended = call.end(4, grpc::Status::OK);
  say(name, begun, got, length, written, ended);
}

void call_empty_message(calling& c, const std::string& name) {
  say(name, answer(c, "/any.Service/Empty", ""));
}

void serve_large_and_compressed(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  call.context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  ByteBuffer message;
  const std::string got = call.read(message, 2);
  Reply reply;
  reply.set_load(parsed<Query>(message).load());
  const std::string written = call.write(bytes_of(reply), 3);
  const std::string ended = call.end(4, grpc::Status::OK);
  say(name, begun, call.context.method(), got, reply.load().size(), written, ended);
}

void call_large_and_compressed(calling& c, const std::string& name) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  Reply reply;
  const auto stub = Unimplemented::NewStub(c.channel);
  const auto s = stub->Call(&context, query("x", 0, std::string(1'000'000, 'x')), &reply);
  say(name, shown(s), reply.load().size());
}

// --- who gets a call

void serve_method_of_service_beside(serving& s, const std::string& name) {
  held call(s, 11);
  grpc::ServerContext context;
  Query q;
  grpc::ServerAsyncResponseWriter<Reply> writer(&context);
  s.service.RequestUnary(&context, &q, &writer, &s.queue(), &s.queue(), tagged(1));
  const std::string begun = call.next();
  Reply reply;
  reply.set_name("of the service");
  writer.Finish(reply, grpc::Status::OK, tagged(2));
  const std::string ended = call.next();
  const std::string generic = call.next();
  call.stream.Finish(grpc::Status::OK, tagged(3));
  say(name, begun, q.ask(), ended, generic, call.context.method(), call.next(2));
}

void call_method_of_service_beside(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Reply reply;
  const auto s = c.stub->Unary(&context, query("typed"), &reply);
  say(name, shown(s), reply.name(), answer(c, "/call_kinds.CallKinds/find").substr(0, 2));
}

void serve_requests_in_order(serving& s, const std::string& name) {
  held first(s, 1, false);
  held second(s, 2, false);
  std::string seen;
  for (held* const call : {&first, &second}) {
    seen += " " + call->next() + " " + call->context.method();
    call->stream.WriteAndFinish(bytes(""), grpc::WriteOptions(), grpc::Status::OK, tagged(3));
    seen += " " + call->next();
  }
  say(name, seen);
}

void call_requests_in_order(calling& c, const std::string& name) {
  const std::string first = answer(c, "/any.Service/First");
  say(name, first, answer(c, "/any.Service/Second"));
}

void serve_beside_synchronous_service(serving& s, const std::string& name) {
  held_generic call(s.second_generic, *s.of_second, *s.of_second);
  const std::string begun = call.next();
  ByteBuffer message;
  const std::string got = call.read(message, 2);
  call.stream.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
  const std::string ended = call.next(2);
  say(name, begun, call.context.method(), got, ended);
}

void call_beside_synchronous_service(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Reply reply;
  const auto s = c.second->stub->Unary(&context, query("typed", 7), &reply);
  say(name, shown(s), reply.number(), answer(*c.second, "/any.Service/Echo"));
}

}  // namespace

cases unary_cases() {
  return {
      {"unary", serve_unary, call_unary},
      {"host", serve_host, call_host},
      {"unary at once", serve_at_once, call_at_once},
      {"unary error", serve_error, call_error},
      {"unary without a reply", serve_without_reply, call_without_reply},
      {"unary with an empty message", serve_empty_message, call_empty_message},
      {"unary of generated code, large and compressed", serve_large_and_compressed,
       call_large_and_compressed},
      {"a method of the service beside", serve_method_of_service_beside, call_method_of_service_beside},
      {"requests in their order", serve_requests_in_order, call_requests_in_order},
      {"beside a synchronous service", serve_beside_synchronous_service, call_beside_synchronous_service}};
}

}  // namespace call_kinds::generic
