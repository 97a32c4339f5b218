// A program in the API of grpc++, compiled with both libraries: a server that requests its calls by queues,
// and a client. Both go through the same cases in the same order, and print what they see in each as
// "case: what".
//
//   server_queues_program server           prints its address, and serves each case once
//   server_queues_program client PORT
//   server_queues_program twice SIDE     a call that its server, or its client, finishes twice; one process
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "queue_cases.hpp"

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
using call_kinds::held_bidi_stream;
using call_kinds::held_client_stream;
using call_kinds::held_server_stream;
using call_kinds::held_unary;
using call_kinds::Note;
using call_kinds::own;
using call_kinds::Position;
using call_kinds::query;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::say;
using call_kinds::shown;
using call_kinds::Summary;
using call_kinds::tagged;
using call_kinds::taken;
using call_kinds::taken_in_any_order;
using std::chrono::system_clock;

Note note_of(const std::string& text) {
  Note n;
  n.set_text(text);
  return n;
}

// --- the servers

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

struct serving {
  CallKinds::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> owned;
  std::unique_ptr<grpc::ServerCompletionQueue> other;
  std::unique_ptr<grpc::Server> server;
  mixed_service mixed;
  std::unique_ptr<grpc::ServerCompletionQueue> of_mixed;
  std::unique_ptr<grpc::Server> second;
  int second_port = 0;
  grpc::ServerCompletionQueue& queue() { return *owned; }
};

// A raw call of the second server.
struct held_bytes : call_kinds::held_call<grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> {
  explicit held_bytes(serving& s) : held_call(*s.of_mixed) {
    s.mixed.RequestBidiStream(&context, &stream, s.of_mixed.get(), s.of_mixed.get(), tagged(1));
  }
};

struct both_sides {
  const char* name;
  std::function<void(serving&, const std::string& name)> serve;
  // The stubs of the two servers.
  std::function<void(CallKinds::Stub&, CallKinds::Stub&, const std::string& name)> call;
};

std::string found(CallKinds::Stub& stub, grpc::ClientContext& context, const Query& q) {
  Reply reply;
  const grpc::Status s = stub.Unary(&context, q, &reply);
  return shown(s) + " " + reply.name() + " " + std::to_string(reply.number()) + " " +
         own(context.GetServerInitialMetadata()) + " " + own(context.GetServerTrailingMetadata());
}
std::string found(CallKinds::Stub& stub, const std::string& ask = "hello") {
  grpc::ClientContext context;
  return found(stub, context, query(ask));
}

std::vector<both_sides> cases() {
  std::vector<both_sides> all;
  const auto add = [&all](const char* name, auto serve, auto call) { all.push_back({name, serve, call}); };
  const auto call_unary = [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
    say(name, found(stub));
  };

  add(
      "unary",
      [](serving& s, const std::string& name) {
        held_unary call(s);
        const std::string begun = call.next();
        const bool cancelled = call.context.IsCancelled();
        say(name, begun, call.asked.ask(), own(call.context.client_metadata()),
            call.context.peer().substr(0, call.context.peer().rfind(':')), cancelled,
            call.context.deadline() == system_clock::time_point::max());
        Reply reply;
        reply.set_name("of a queue");
        const std::string ended = call.end(2, reply, grpc::Status::OK);
        say(name + " ended", ended, call.context.IsCancelled(), own(call.context.client_metadata()));
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        context.AddMetadata("own-a", "1");
        context.AddMetadata("own-a", "2");
        say(name, found(stub, context, query("hello")));
      });
  add(
      "unary without notice",
      [](serving& s, const std::string& name) {
        held_unary call(s, 1, false);
        const std::string begun = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
        const std::string ended = call.next();
        say(name, begun, ended);
      },
      call_unary);
  add(
      "unary error",
      [](serving& s, const std::string& name) {
        held_unary call(s);
        const std::string begun = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.SendInitialMetadata(tagged(2));
        const std::string sent = call.next();
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.FinishWithError(grpc::Status(grpc::StatusCode::NOT_FOUND, "none", "details"), tagged(3));
        const std::string ended = call.next(2);
        say(name, begun, sent, ended, call.context.IsCancelled());
      },
      call_unary);
  add(
      "unary with a status and a reply",
      [](serving& s, const std::string& name) {
        held_unary call(s);
        const std::string begun = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        const std::string ended = call.end(3, Reply(), grpc::Status(grpc::StatusCode::ABORTED, "no"));
        say(name, begun, ended);
      },
      call_unary);

  // Ends that the program does not choose.
  const auto serve_cancelled = [](serving& s, const std::string& name) {
    held_unary call(s);
    const std::string begun = call.next();
    call.stream.SendInitialMetadata(tagged(3));
    // The client may have cancelled before the event of what it has seen.
    const std::string sent_and_done = call.next_in_any_order(2);
    const bool cancelled = call.context.IsCancelled();
    call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
    const std::string ended = call.next();
    say(name, begun, sent_and_done, cancelled, ended, call.context.IsCancelled());
  };
  add("unary whose deadline passes", serve_cancelled,
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        context.set_deadline(system_clock::now() + 200ms);
        Reply reply;
        say(name, stub.Unary(&context, query("x"), &reply).error_code());
      });
  add("unary cancelled by the client", serve_cancelled,
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::CompletionQueue queue;
        grpc::ClientContext context;
        Reply reply;
        grpc::Status status;
        const auto reader = stub.AsyncUnary(&context, query("x"), &queue);
        reader->ReadInitialMetadata(tagged(1));
        const std::string begun = taken(queue);
        context.TryCancel();
        reader->Finish(&reply, &status, tagged(2));
        const std::string ended = taken(queue);
        say(name, begun, ended, status.error_code());
      });
  add(
      "unary cancelled by the server",
      [](serving& s, const std::string& name) {
        held_unary call(s);
        const std::string begun = call.next();
        call.context.TryCancel();
        const std::string done = call.next();
        const bool cancelled = call.context.IsCancelled();
        call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
        const std::string ended = call.next();
        say(name, begun, done, cancelled, ended);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Reply reply;
        say(name, stub.Unary(&context, query("x"), &reply).error_code());
      });
  add(
      "a request that does not parse",
      [](serving& s, const std::string& name) {
        held_unary call(s);
        const std::string begun = call.next();
        Reply reply;
        reply.set_name("the next one");
        const std::string ended = call.end(2, reply, grpc::Status::OK);
        say(name, begun, call.asked.ask(), ended);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Reply reply;
        const Query invalid = query("\xff\xfe");  // a proto3 string that is not UTF-8
        say(name + " first", stub.Unary(&context, invalid, &reply).error_code());
        say(name, found(stub));
      });
  add(
      "two calls",
      [](serving& s, const std::string& name) {
        held_unary first(s, 1);
        held_unary second(s, 2);
        const std::string begun = taken(s.queue(), 2);
        const std::string of_second = second.end(3, Reply(), grpc::Status::OK);
        const std::string of_first = first.end(4, Reply(), grpc::Status::OK);
        say(name, begun, of_second, of_first);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        std::string of_first;
        std::thread first([&] { of_first = found(stub, "a"); });
        const std::string of_second = found(stub, "b");
        first.join();
        say(name, of_first, of_second);
      });
  add(
      "two queues",
      [](serving& s, const std::string& name) {
        held_unary call(s.service, s.queue(), *s.other);
        const std::string begun = taken(*s.other);
        const std::string ended = call.end(2, Reply(), grpc::Status::OK);
        say(name, begun, ended);
      },
      call_unary);

  // Streams of replies.
  const auto read_all = [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
    grpc::ClientContext context;
    const auto reader = stub.ServerStream(&context, query("x"));
    Reply reply;
    std::string numbers;
    while (reader->Read(&reply)) numbers += std::to_string(reply.number());
    const grpc::Status s = reader->Finish();
    say(name, numbers, shown(s), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  add(
      "server stream",
      [](serving& s, const std::string& name) {
        held_server_stream call(s);
        std::string events = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        Reply reply;
        for (int i = 0; i < 3; ++i) {
          reply.set_number(i);
          events += " " + call.write(reply, 2);
        }
        call.context.AddTrailingMetadata("own-trailing", "b");
        const std::string ended = call.end(3, grpc::Status(grpc::StatusCode::ABORTED, "enough"));
        say(name, call.asked.ask(), events, ended, call.context.IsCancelled());
      },
      read_all);
  add(
      "server stream with a last message",
      [](serving& s, const std::string& name) {
        held_server_stream call(s);
        std::string events = call.next();
        Reply reply;
        reply.set_number(7);
        call.stream.WriteLast(reply, grpc::WriteOptions(), tagged(2));
        events += " " + call.next();
        const std::string ended = call.end(3, grpc::Status::OK);
        say(name, events, ended);
      },
      read_all);
  add(
      "server stream with one end",
      [](serving& s, const std::string& name) {
        held_server_stream call(s);
        std::string events = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        Reply reply;
        reply.set_number(8);
        call.stream.WriteAndFinish(reply, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
        const std::string ended = call.next(2);
        say(name, events, ended);
      },
      read_all);
  add(
      "server stream without messages",
      [](serving& s, const std::string& name) {
        held_server_stream call(s);
        std::string events = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        const std::string ended = call.end(3, grpc::Status::OK);
        say(name, events, ended);
      },
      read_all);
  add(
      "server stream cancelled by the client",
      [](serving& s, const std::string& name) {
        held_server_stream call(s);
        const std::string begun = call.next();
        Reply reply;
        const std::string first = call.write(reply, 2);
        const std::string done = call.next();
        const std::string written = call.write(reply, 3);
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string ended = call.next();
        say(name, begun, first, done, call.context.IsCancelled(), written, ended);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto reader = stub.ServerStream(&context, query("x"));
        Reply reply;
        const bool first = reader->Read(&reply);
        context.TryCancel();
        while (reader->Read(&reply)) continue;
        say(name, first, reader->Finish().error_code());
      });

  // Streams of requests.
  add(
      "client stream",
      [](serving& s, const std::string& name) {
        held_client_stream call(s);
        std::string events = call.next();
        Position position;
        Summary summary;
        std::string last;
        for (;;) {
          last = call.read(position, 2);
          events += " " + last;
          if (last != "2+") break;
          summary.set_positions(summary.positions() + position.north());
        }
        events += " " + call.read(position, 3);
        const std::string ended = call.end(4, summary, grpc::Status::OK);
        say(name, events, ended);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.ClientStream(&context, &summary);
        Position position;
        for (int i = 1; i <= 3; ++i) {
          position.set_north(i);
          writer->Write(position);
        }
        writer->WritesDone();
        const grpc::Status s = writer->Finish();
        say(name, shown(s), summary.positions());
      });
  add(
      "client stream answered early",
      [](serving& s, const std::string& name) {
        held_client_stream call(s);
        std::string events = call.next();
        Position position;
        events += " " + call.read(position, 2);
        call.stream.FinishWithError(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no"), tagged(4));
        const std::string ended = call.next(2);
        const std::string after = call.read(position, 5);
        say(name, events, ended, after, call.context.IsCancelled());
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.ClientStream(&context, &summary);
        Position position;
        while (writer->Write(position)) continue;
        say(name, shown(writer->Finish()));
      });
  add(
      "client stream cancelled by the client",
      [](serving& s, const std::string& name) {
        held_client_stream call(s);
        std::string events = call.next();
        Position position;
        events += " " + call.read(position, 2);
        call.stream.SendInitialMetadata(tagged(5));
        events += " " + call.next();
        call.stream.Read(&position, tagged(3));
        events += " " + call.next(2);
        call.stream.Finish(Summary(), grpc::Status::OK, tagged(4));
        const std::string ended = call.next();
        say(name, events, ended, call.context.IsCancelled());
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.ClientStream(&context, &summary);
        const bool first = writer->Write(Position());
        writer->WaitForInitialMetadata();  // the message was read
        context.TryCancel();
        say(name, first, writer->Finish().error_code());
      });

  // Both.
  add(
      "bidi stream",
      [](serving& s, const std::string& name) {
        held_bidi_stream call(s);
        std::string events = call.next();
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.SendInitialMetadata(tagged(6));
        events += " " + call.next();
        Note note;
        for (int i = 0; i < 2; ++i) {
          events += " " + call.read(note, 2);
          events += " " + call.write(note_of("you said " + note.text()), 3);
        }
        events += " " + call.read(note, 4);
        call.stream.WriteAndFinish(note_of("bye"), grpc::WriteOptions(), grpc::Status::OK, tagged(5));
        const std::string ended = call.next(2);
        say(name, events, ended);
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.BidiStream(&context);
        stream->WaitForInitialMetadata();
        std::string heard;
        Note note;
        for (const char* const word : {"ahoy", "again"}) {
          stream->Write(note_of(word));
          stream->Read(&note);
          heard += note.text() + ";";
        }
        stream->WritesDone();
        while (stream->Read(&note)) heard += note.text() + ";";
        const grpc::Status s = stream->Finish();
        say(name, heard, shown(s), own(context.GetServerInitialMetadata()));
      });
  add(
      "bidi stream finished while it reads",
      [](serving& s, const std::string& name) {
        held_bidi_stream call(s);
        const std::string begun = call.next();
        Note note;
        call.stream.Read(&note, tagged(2));
        const std::string written = call.write(note_of("hello"), 3);
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string ended = call.next(3);
        say(name, begun, written, ended, call.context.IsCancelled());
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.BidiStream(&context);
        Note note;
        std::string heard;
        while (stream->Read(&note)) heard += note.text() + ";";
        say(name, heard, shown(stream->Finish()));
      });
  add(
      "bidi stream cancelled by the server",
      [](serving& s, const std::string& name) {
        held_bidi_stream call(s);
        const std::string begun = call.next();
        Note note;
        call.stream.Read(&note, tagged(2));
        call.context.TryCancel();
        const std::string ended = call.next(2);
        const std::string written = call.write(note, 3);
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string finished = call.next();
        say(name, begun, ended, written, finished, call.context.IsCancelled());
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.BidiStream(&context);
        Note note;
        const bool read = stream->Read(&note);
        say(name, read, stream->Finish().error_code());
      });

  // The second server.
  add(
      "mixed methods, queue",
      [](serving& s, const std::string& name) {
        held_unary call(s.mixed, *s.of_mixed, *s.of_mixed);
        const std::string begun = call.next();
        Reply reply;
        reply.set_number(3);
        const std::string ended = call.end(2, reply, grpc::Status::OK);
        say(name, s.mixed.has_async_methods(), s.mixed.has_synchronous_methods(), begun, call.asked.ask(),
            ended);
      },
      [](CallKinds::Stub&, CallKinds::Stub& second, const std::string& name) { say(name, found(second)); });
  add(
      "mixed methods, handler", [](serving&, const std::string&) {},
      [](CallKinds::Stub&, CallKinds::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = second.ClientStream(&context, &summary);
        writer->Write(Position());
        writer->WritesDone();
        const grpc::Status s = writer->Finish();
        say(name, shown(s), summary.positions());
      });
  add(
      "mixed methods, handler that does not exist", [](serving&, const std::string&) {},
      [](CallKinds::Stub&, CallKinds::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        const auto reader = second.ServerStream(&context, query("x"));
        Reply reply;
        const bool read = reader->Read(&reply);
        say(name, read, reader->Finish().error_code());
      });
  add(
      "mixed methods, raw",
      [](serving& s, const std::string& name) {
        held_bytes call(s);
        std::string events = call.next();
        grpc::ByteBuffer message;
        events += " " + call.read(message, 2);
        events += " " + call.write(message, 3);
        const std::size_t length = message.Length();
        events += " " + call.read(message, 4);
        const std::string ended = call.end(5, grpc::Status::OK);
        say(name, events, length, ended);
      },
      [](CallKinds::Stub&, CallKinds::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = second.BidiStream(&context);
        stream->Write(note_of("as bytes"));
        Note note;
        const bool read = stream->Read(&note);
        stream->WritesDone();
        say(name, read, note.text(), shown(stream->Finish()));
      });

  // The end: a call that goes on, one that no request takes, and requests that get none.
  add(
      "shutdown",
      [](serving& s, const std::string& name) {
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
        say(name + " drained", drained, taken(*s.other));
      },
      [](CallKinds::Stub& stub, CallKinds::Stub&, const std::string& name) {
        grpc::CompletionQueue queue;
        // By one queue, and so on one connection: the message of the second comes after the first.
        grpc::ClientContext of_unrequested;
        Reply reply;
        grpc::Status unrequested;
        stub.AsyncUnary(&of_unrequested, query("x"), &queue)->Finish(&reply, &unrequested, tagged(1));
        grpc::ClientContext context;
        const auto stream = stub.AsyncBidiStream(&context, &queue, tagged(2));
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
      });
  add(
      "shutdown of a server without calls",
      [](serving& s, const std::string& name) {
        held_unary wanted(s.mixed, *s.of_mixed, *s.of_mixed);
        s.second->Shutdown();
        s.of_mixed->Shutdown();
        const std::string refused = taken(*s.of_mixed);
        say(name, refused, taken(*s.of_mixed));
      },
      [](CallKinds::Stub&, CallKinds::Stub&, const std::string&) {});
  return all;
}

int run_server() {
  serving s;
  int port = 0;
  s.server = call_kinds::start_server(port, [&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.service);
    s.owned = builder.AddCompletionQueue();
    s.other = builder.AddCompletionQueue();
  });
  s.second = call_kinds::start_server(s.second_port, [&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.mixed);
    s.of_mixed = builder.AddCompletionQueue();
  });
  if (!s.server || !s.second) return 1;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  {
    held_unary call(s);
    call.next();
    Reply reply;
    reply.set_number(s.second_port);
    call.end(2, reply, grpc::Status::OK);
  }
  for (const both_sides& c : cases()) c.serve(s, std::string("server ") + c.name);
  return 0;
}

int run_client(const std::string& port) {
  const auto stub_at = [](const std::string& p) { return CallKinds::NewStub(call_kinds::channel_to(p)); };
  const auto stub = stub_at(port);
  Reply reply;
  grpc::ClientContext context;
  if (!stub->Unary(&context, Query(), &reply).ok()) return 1;
  const auto second = stub_at(std::to_string(reply.number()));
  for (const both_sides& c : cases()) c.call(*stub, *second, c.name);
  return 0;
}

// --- what grpc++ does not let a program do

int run_twice(const std::string& side) {
  serving s;
  int port = 0;
  s.server = call_kinds::start_server(port, [&s](grpc::ServerBuilder& builder) {
    builder.RegisterService(&s.service);
    s.owned = builder.AddCompletionQueue();
  });
  grpc::CompletionQueue queue;
  const auto stub = CallKinds::NewStub(call_kinds::channel_to(std::to_string(port)));
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

}  // namespace

int main(int count, char** words) {
  return call_kinds::run_program(
      count, words, {{"server", run_server}, {"client", "PORT", run_client}, {"twice", "SIDE", run_twice}});
}
