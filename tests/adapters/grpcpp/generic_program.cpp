// A program in the API of grpc++, compiled with both libraries: a server whose methods are those of generated
// code and those of an AsyncGenericService, requested by one queue, and a client. Both go through the same
// cases in the same order, and print what they see in each as "case: what".
//
//   generic_program server           prints its address, and serves each case once
//   generic_program client PORT
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "queue_cases.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::own;
using call_kinds::Query;
using call_kinds::query;
using call_kinds::Reply;
using call_kinds::say;
using call_kinds::shown;
using call_kinds::tagged;
using call_kinds::taken;
using call_kinds::Unimplemented;
using grpc::ByteBuffer;
using std::chrono::system_clock;

ByteBuffer bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return ByteBuffer(&slice, 1);
}

std::string text_of(const ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return "nothing";
  std::string all;
  for (const grpc::Slice& s : slices) all.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return all;
}

template <class Message>
ByteBuffer bytes_of(const Message& message) {
  return bytes(message.SerializeAsString());
}

template <class Message>
Message parsed(const ByteBuffer& from) {
  Message made;
  if (!made.ParseFromString(text_of(from))) made.Clear();
  return made;
}

// --- the servers

using call_kinds_methods = CallKinds::WithAsyncMethod_Unary<CallKinds::WithGenericMethod_ServerStream<
    CallKinds::WithGenericMethod_ClientStream<CallKinds::WithGenericMethod_BidiStream<CallKinds::Service>>>>;

struct serving {
  call_kinds_methods service;
  grpc::AsyncGenericService generic;
  std::unique_ptr<grpc::ServerCompletionQueue> owned;
  std::unique_ptr<grpc::Server> server;
  call_kinds::call_kinds_service synchronous;  // of the second server, which has a generic service, too
  grpc::AsyncGenericService second_generic;
  std::unique_ptr<grpc::ServerCompletionQueue> of_second;
  std::unique_ptr<grpc::Server> second;
  int second_port = 0;
  grpc::ServerCompletionQueue& queue() { return *owned; }
};

// A generic call of the first server.
struct held : call_kinds::held_generic {
  explicit held(serving& s, int tag = 1, bool notify = true)
      : held_generic(s.generic, s.queue(), s.queue(), tag, notify) {}
};

// --- the clients

struct calling {
  explicit calling(const std::string& port)
      : channel(call_kinds::channel_to(port)), stub(CallKinds::NewStub(channel)), generic(channel) {}
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
  grpc::GenericStub generic;
};

std::string answer(calling& c, grpc::ClientContext& context, const std::string& method,
                   const std::string& request) {
  grpc::CompletionQueue queue;
  const auto reader = c.generic.PrepareUnaryCall(&context, method, bytes(request), &queue);
  reader->StartCall();
  ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, tagged(1));
  const std::string event = taken(queue);
  return event + " " + shown(status) + " " + (status.ok() ? text_of(reply) : "none") + " " +
         own(context.GetServerInitialMetadata()) + " " + own(context.GetServerTrailingMetadata());
}
std::string answer(calling& c, const std::string& method, const std::string& request = "hello") {
  grpc::ClientContext context;
  return answer(c, context, method, request);
}

struct both_sides {
  const char* name;
  std::function<void(serving&, const std::string& name)> serve;
  // Of the two servers.
  std::function<void(calling&, calling&, const std::string& name)> call;
};

std::vector<both_sides> cases() {
  std::vector<both_sides> all;
  const auto add = [&all](const char* name, auto serve, auto call) { all.push_back({name, serve, call}); };

  // Calls of one message.
  add(
      "unary",
      [](serving& s, const std::string& name) {
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
        say(name + " ended", first, text, second, written, ended, call.context.IsCancelled(),
            call.context.method());
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        context.AddMetadata("own-a", "1");
        context.AddMetadata("own-a", "2");
        say(name, answer(c, context, "/any.Service/Method", "hello"));
      });
  add(
      "host",
      [](serving& s, const std::string& name) {
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
      },
      [](calling& c, calling&, const std::string& name) {
        const std::string first = answer(c, "/any.Service/Method");
        grpc::ClientContext context;
        context.set_authority("own.example:1");
        say(name, first, answer(c, context, "/any.Service/Method", "hello"));
      });
  add(
      "unary at once",
      [](serving& s, const std::string& name) {
        held call(s, 1, false);
        const std::string begun = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.WriteAndFinish(bytes("here"), grpc::WriteOptions(), grpc::Status::OK, tagged(2));
        const std::string ended = call.next();
        say(name, begun, call.context.method(), ended);
      },
      [](calling& c, calling&, const std::string& name) { say(name, answer(c, "/x.y.z.S/m")); });
  add(
      "unary error",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        const std::string ended = call.end(3, grpc::Status(grpc::StatusCode::NOT_FOUND, "none", "details"));
        say(name, begun, ended, call.context.IsCancelled());
      },
      [](calling& c, calling&, const std::string& name) { say(name, answer(c, "/any.Service/Fails")); });
  add(
      "unary without a reply",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        const std::string ended = call.end(3, grpc::Status::OK);
        say(name, begun, ended);
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        Reply reply;
        const auto stub = Unimplemented::NewStub(c.channel);
        say(name, stub->Call(&context, Query(), &reply).ok());
      });
  add(
      "unary with an empty message",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        ByteBuffer message = bytes("something");
        const std::string got = call.read(message, 2);
        const std::size_t length = message.Length();
        const std::string written = call.write(bytes(""), 3);
        const std::string ended = call.end(4, grpc::Status::OK);
        say(name, begun, got, length, written, ended);
      },
      [](calling& c, calling&, const std::string& name) { say(name, answer(c, "/any.Service/Empty", "")); });
  add(
      "unary of generated code, large and compressed",
      [](serving& s, const std::string& name) {
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
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
        Reply reply;
        const auto stub = Unimplemented::NewStub(c.channel);
        const auto s = stub->Call(&context, query("x", 0, std::string(1'000'000, 'x')), &reply);
        say(name, shown(s), reply.load().size());
      });

  // Who gets a call.
  add(
      "a method of the service beside",
      [](serving& s, const std::string& name) {
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
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        Reply reply;
        const auto s = c.stub->Unary(&context, query("typed"), &reply);
        say(name, shown(s), reply.name(), answer(c, "/call_kinds.CallKinds/find").substr(0, 2));
      });
  add(
      "requests in their order",
      [](serving& s, const std::string& name) {
        held first(s, 1, false);
        held second(s, 2, false);
        std::string seen;
        for (held* const call : {&first, &second}) {
          seen += " " + call->next() + " " + call->context.method();
          call->stream.WriteAndFinish(bytes(""), grpc::WriteOptions(), grpc::Status::OK, tagged(3));
          seen += " " + call->next();
        }
        say(name, seen);
      },
      [](calling& c, calling&, const std::string& name) {
        const std::string first = answer(c, "/any.Service/First");
        say(name, first, answer(c, "/any.Service/Second"));
      });
  add(
      "beside a synchronous service",
      [](serving& s, const std::string& name) {
        call_kinds::held_generic call(s.second_generic, *s.of_second, *s.of_second);
        const std::string begun = call.next();
        ByteBuffer message;
        const std::string got = call.read(message, 2);
        call.stream.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
        const std::string ended = call.next(2);
        say(name, begun, call.context.method(), got, ended);
      },
      [](calling&, calling& second, const std::string& name) {
        grpc::ClientContext context;
        Reply reply;
        const auto s = second.stub->Unary(&context, query("typed", 7), &reply);
        say(name, shown(s), reply.number(), answer(second, "/any.Service/Echo"));
      });

  // Streams.
  add(
      "stream of replies",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        ByteBuffer message;
        std::string got = call.read(message, 2);
        const int count = parsed<Query>(message).number();
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.SendInitialMetadata(tagged(3));
        got += " " + call.next();
        Reply reply;
        for (int i = 0; i < count; ++i) {
          reply.set_number(i);
          got += " " + call.write(bytes_of(reply), 4);
        }
        reply.set_number(count);
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.WriteAndFinish(bytes_of(reply), grpc::WriteOptions(),
                                   grpc::Status(grpc::StatusCode::ABORTED, "no more"), tagged(5));
        const std::string ended = call.next(2);
        say(name, begun, call.context.method(), got, ended);
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        const auto reader = c.stub->ServerStream(&context, query("x", 3));
        reader->WaitForInitialMetadata();
        std::string seen = own(context.GetServerInitialMetadata());
        Reply reply;
        while (reader->Read(&reply)) seen += " " + std::to_string(reply.number());
        const auto s = reader->Finish();
        say(name, seen, shown(s), own(context.GetServerTrailingMetadata()));
      });
  add(
      "stream of requests",
      [](serving& s, const std::string& name) {
        held call(s);
        std::string events = call.next();
        call_kinds::Summary summary;
        ByteBuffer message;
        while (true) {
          const std::string got = call.read(message, 2);
          events += " " + got;
          if (got != "2+") break;
          summary.set_distance(summary.distance() + parsed<call_kinds::Position>(message).north());
          summary.set_positions(summary.positions() + 1);
        }
        events += " " + call.write(bytes_of(summary), 3);
        const std::string ended = call.end(4, grpc::Status::OK);
        say(name, call.context.method(), events, ended);
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        call_kinds::Summary summary;
        const auto writer = c.stub->ClientStream(&context, &summary);
        call_kinds::Position position;
        for (int i = 1; i <= 3; ++i) {
          position.set_north(i);
          writer->Write(position);
        }
        writer->WritesDone();
        const auto s = writer->Finish();
        say(name, shown(s), summary.positions(), summary.distance());
      });
  add(
      "stream both ways",
      [](serving& s, const std::string& name) {
        held call(s);
        std::string events = call.next();
        ByteBuffer message;
        for (std::string got; (got = call.read(message, 2)) == "2+";) {
          call.stream.Write(message, grpc::WriteOptions().set_no_compression(), tagged(3));
          events += " " + got + " " + call.next();
        }
        const std::string ended = call.end(4, grpc::Status::OK);
        say(name, events, ended);
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = c.stub->BidiStream(&context);
        std::string seen;
        for (const char* word : {"a", "b", "c"}) {
          Note note;
          note.set_text(word);
          const bool written = stream->Write(note);
          note.Clear();
          const bool got = stream->Read(&note);
          seen += (written && got ? note.text() : "?") + " ";
        }
        stream->WritesDone();
        say(name, seen, shown(stream->Finish()));
      });
  add(
      "a read and a write at the same time",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        ByteBuffer message;
        call.stream.Read(&message, tagged(2));
        call.stream.Write(bytes_of(Note()), tagged(3));
        const std::string both = call.next(2);
        const std::string ended = call.end(4, grpc::Status::OK);
        say(name, begun, both, parsed<Note>(message).text(), ended);
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = c.stub->BidiStream(&context);
        Note note;
        const bool got = stream->Read(&note);
        note.set_text("then");
        const bool written = stream->Write(note);
        while (stream->Read(&note)) continue;
        say(name, got, written, shown(stream->Finish()));
      });

  // Ends that the program does not choose.
  const auto serve_cancelled = [](serving& s, const std::string& name) {
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
  };
  add("deadline", serve_cancelled, [](calling& c, calling&, const std::string& name) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + 200ms);
    const auto stream = c.stub->BidiStream(&context);
    stream->Write(Note());
    Note note;
    const bool first = stream->Read(&note);
    const bool second = stream->Read(&note);
    say(name, first, second, stream->Finish().error_code());
  });
  add("cancelled by the client", serve_cancelled, [](calling& c, calling&, const std::string& name) {
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
  });
  add(
      "cancelled by the server",
      [](serving& s, const std::string& name) {
        held call(s);
        const std::string begun = call.next();
        call.context.TryCancel();
        const std::string done = call.next();
        call.stream.Finish(grpc::Status::OK, tagged(2));
        say(name, begun, done, call.context.IsCancelled(), call.next());
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = c.stub->BidiStream(&context);
        Note note;
        const bool got = stream->Read(&note);
        say(name, got, stream->Finish().error_code());
      });
  add(
      "deadline of the client",
      [](serving& s, const std::string& name) {
        held call(s, 1, false);
        const std::string begun = call.next();
        const auto left = call.context.deadline() - system_clock::now();
        call.stream.WriteAndFinish(bytes(""), grpc::WriteOptions(), grpc::Status::OK, tagged(2));
        say(name, begun, left > 50s && left < 150s, call.next());
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        context.set_deadline(system_clock::now() + 100s);
        say(name, answer(c, context, "/any.Service/Method", ""));
      });

  // The end: a call that goes on, and requests that get none.
  add(
      "shutdown",
      [](serving& s, const std::string& name) {
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
        say(name + " of the second", taken(*s.of_second));
      },
      [](calling& c, calling&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = c.stub->BidiStream(&context);
        Note note;
        const bool got = stream->Read(&note);
        say(name, got, shown(stream->Finish()));
      });
  return all;
}

int run_server() {
  serving s;
  int port = 0;
  s.server = call_kinds::start_server(port, [&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.service);
    builder.RegisterAsyncGenericService(&s.generic);
    s.owned = builder.AddCompletionQueue();
  });
  s.second = call_kinds::start_server(s.second_port, [&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.synchronous);
    builder.RegisterAsyncGenericService(&s.second_generic);
    s.of_second = builder.AddCompletionQueue();
  });
  if (!s.server || !s.second) return 1;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  {
    held call(s, 1, false);
    call.next();
    call.stream.WriteAndFinish(bytes(std::to_string(s.second_port)), grpc::WriteOptions(), grpc::Status::OK,
                               tagged(2));
    call.next();
  }
  for (const both_sides& c : cases()) c.serve(s, std::string("server ") + c.name);
  return 0;
}

int run_client(const std::string& port) {
  calling first(port);
  grpc::ClientContext context;
  const std::string found = answer(first, context, "/any.Service/Second", "");
  const std::size_t at = found.find(" 0 ");
  if (at == std::string::npos) return 1;
  calling second(found.substr(at + 3, found.find(' ', at + 3) - at - 3));
  for (const both_sides& c : cases()) c.call(first, second, c.name);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  return call_kinds::run_program(count, words, {{"server", run_server}, {"client", "PORT", run_client}});
}
