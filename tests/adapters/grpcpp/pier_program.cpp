// A program in the API of grpc++, compiled with both libraries: a server that requests its calls by queues,
// and a client. Both go through the same cases in the same order, and print what they see in each as
// "case: what".
//
//   pier_program server           prints its address, and serves each case once
//   pier_program client PORT
#include "harbour.grpc.pb.h"
#include "harbour_service.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using harbour::Harbour;
using harbour::Note;
using harbour::own;
using harbour::Position;
using harbour::Query;
using harbour::say;
using harbour::Ship;
using harbour::shown;
using harbour::Summary;
using std::chrono::system_clock;

void* tagged(std::intptr_t number) { return reinterpret_cast<void*>(number); }

// Takes `count` events, and shows their tags in order, each with its ok.
std::string taken(grpc::CompletionQueue& queue, int count = 1) {
  std::multimap<std::intptr_t, bool> events;
  for (int i = 0; i < count; ++i) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok)) {
      events.emplace(-1, false);
      break;
    }
    events.emplace(reinterpret_cast<std::intptr_t>(tag), ok);
  }
  std::string all;
  for (const auto& [tag, ok] : events)
    all += (all.empty() ? "" : " ") + (tag < 0 ? "drained" : std::to_string(tag) + (ok ? "+" : "-"));
  return all;
}

Note note_of(const std::string& text) {
  Note n;
  n.set_text(text);
  return n;
}
Query query_of(const std::string& ask) {
  Query q;
  q.set_ask(ask);
  return q;
}

// --- the servers

// Methods of three kinds in one service.
class mixed_service final
    : public Harbour::WithRawMethod_Talk<Harbour::WithAsyncMethod_Find<Harbour::Service>> {
 public:
  grpc::Status Record(grpc::ServerContext*, grpc::ServerReader<Position>* reader, Summary* summary) override {
    Position position;
    while (reader->Read(&position)) summary->set_positions(summary->positions() + 1);
    return grpc::Status::OK;
  }
};

struct serving {
  Harbour::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> owned;
  std::unique_ptr<grpc::ServerCompletionQueue> other;
  std::unique_ptr<grpc::Server> server;
  mixed_service mixed;
  std::unique_ptr<grpc::ServerCompletionQueue> of_mixed;
  std::unique_ptr<grpc::Server> second;
  int second_port = 0;
  grpc::ServerCompletionQueue& queue() { return *owned; }
};

// What a program has of a call.
template <class Stream>
struct held {
  explicit held(bool notify = true) {
    if (notify) context.AsyncNotifyWhenDone(tagged(9));
  }
  grpc::ServerContext context;
  Stream stream{&context};
};
using held_find = held<grpc::ServerAsyncResponseWriter<Ship>>;
using held_list = held<grpc::ServerAsyncWriter<Ship>>;
using held_record = held<grpc::ServerAsyncReader<Summary, Position>>;
using held_talk = held<grpc::ServerAsyncReaderWriter<Note, Note>>;

void find(serving& s, held_find& call, Query& query, int tag = 1) {
  s.service.RequestFind(&call.context, &query, &call.stream, &s.queue(), &s.queue(), tagged(tag));
}
void list(serving& s, held_list& call, Query& query) {
  s.service.RequestList(&call.context, &query, &call.stream, &s.queue(), &s.queue(), tagged(1));
}
void record(serving& s, held_record& call) {
  s.service.RequestRecord(&call.context, &call.stream, &s.queue(), &s.queue(), tagged(1));
}
void talk(serving& s, held_talk& call) {
  s.service.RequestTalk(&call.context, &call.stream, &s.queue(), &s.queue(), tagged(1));
}

struct both_sides {
  const char* name;
  std::function<void(serving&, const std::string& name)> serve;
  // The stubs of the two servers.
  std::function<void(Harbour::Stub&, Harbour::Stub&, const std::string& name)> call;
};

std::string found(Harbour::Stub& stub, grpc::ClientContext& context, const Query& query) {
  Ship ship;
  const grpc::Status s = stub.Find(&context, query, &ship);
  return shown(s) + " " + ship.name() + " " + std::to_string(ship.number()) + " " +
         own(context.GetServerInitialMetadata()) + " " + own(context.GetServerTrailingMetadata());
}
std::string found(Harbour::Stub& stub, const std::string& ask = "hello") {
  grpc::ClientContext context;
  return found(stub, context, query_of(ask));
}

std::vector<both_sides> cases() {
  std::vector<both_sides> all;
  const auto add = [&all](const char* name, auto serve, auto call) { all.push_back({name, serve, call}); };

  add(
      "unary",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        const bool cancelled = call.context.IsCancelled();
        say(name, begun, query.ask(), own(call.context.client_metadata()),
            call.context.peer().substr(0, call.context.peer().rfind(':')), cancelled,
            call.context.deadline() == system_clock::time_point::max());
        Ship ship;
        ship.set_name("of a queue");
        call.stream.Finish(ship, grpc::Status::OK, tagged(2));
        const std::string ended = taken(s.queue(), 2);
        say(name + " ended", ended, call.context.IsCancelled(), own(call.context.client_metadata()));
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        context.AddMetadata("own-a", "1");
        context.AddMetadata("own-a", "2");
        say(name, found(stub, context, query_of("hello")));
      });
  add(
      "unary without notice",
      [](serving& s, const std::string& name) {
        held_find call(false);
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.Finish(Ship(), grpc::Status::OK, tagged(2));
        const std::string ended = taken(s.queue());
        say(name, begun, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) { say(name, found(stub)); });
  add(
      "unary error",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.SendInitialMetadata(tagged(2));
        const std::string sent = taken(s.queue());
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.FinishWithError(grpc::Status(grpc::StatusCode::NOT_FOUND, "none", "details"), tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, begun, sent, ended, call.context.IsCancelled());
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) { say(name, found(stub)); });
  add(
      "unary with a status and a reply",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.Finish(Ship(), grpc::Status(grpc::StatusCode::ABORTED, "no"), tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, begun, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) { say(name, found(stub)); });

  // Ends that the program does not choose.
  const auto serve_cancelled = [](serving& s, const std::string& name) {
    held_find call;
    Query query;
    find(s, call, query);
    const std::string begun = taken(s.queue());
    call.stream.SendInitialMetadata(tagged(3));
    // The client may have cancelled before the event of what it has seen.
    const std::string sent_and_done = taken(s.queue(), 2);
    const bool cancelled = call.context.IsCancelled();
    call.stream.Finish(Ship(), grpc::Status::OK, tagged(2));
    const std::string ended = taken(s.queue());
    say(name, begun, sent_and_done, cancelled, ended, call.context.IsCancelled());
  };
  add("unary whose deadline passes", serve_cancelled,
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        context.set_deadline(system_clock::now() + 200ms);
        Ship ship;
        say(name, stub.Find(&context, query_of("x"), &ship).error_code());
      });
  add("unary cancelled by the client", serve_cancelled,
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::CompletionQueue queue;
        grpc::ClientContext context;
        Ship ship;
        grpc::Status status;
        const auto reader = stub.AsyncFind(&context, query_of("x"), &queue);
        reader->ReadInitialMetadata(tagged(1));
        const std::string begun = taken(queue);
        context.TryCancel();
        reader->Finish(&ship, &status, tagged(2));
        const std::string ended = taken(queue);
        say(name, begun, ended, status.error_code());
      });
  add(
      "unary cancelled by the server",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        call.context.TryCancel();
        const std::string done = taken(s.queue());
        const bool cancelled = call.context.IsCancelled();
        call.stream.Finish(Ship(), grpc::Status::OK, tagged(2));
        const std::string ended = taken(s.queue());
        say(name, begun, done, cancelled, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Ship ship;
        say(name, stub.Find(&context, query_of("x"), &ship).error_code());
      });
  add(
      "a request that does not parse",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        find(s, call, query);
        const std::string begun = taken(s.queue());
        Ship ship;
        ship.set_name("the next one");
        call.stream.Finish(ship, grpc::Status::OK, tagged(2));
        const std::string ended = taken(s.queue(), 2);
        say(name, begun, query.ask(), ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub& other, const std::string& name) {
        static_cast<void>(other);
        grpc::ClientContext context;
        Ship ship;
        Query invalid = query_of("\xff\xfe");  // a proto3 string that is not UTF-8
        say(name + " first", stub.Find(&context, invalid, &ship).error_code());
        say(name, found(stub));
      });
  add(
      "two calls",
      [](serving& s, const std::string& name) {
        held_find first;
        held_find second;
        Query queries[2];
        find(s, first, queries[0], 1);
        find(s, second, queries[1], 2);
        const std::string begun = taken(s.queue(), 2);
        second.stream.Finish(Ship(), grpc::Status::OK, tagged(3));
        const std::string of_second = taken(s.queue(), 2);
        first.stream.Finish(Ship(), grpc::Status::OK, tagged(4));
        const std::string of_first = taken(s.queue(), 2);
        say(name, begun, of_second, of_first);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        std::string of_first;
        std::thread first([&] { of_first = found(stub, "a"); });
        const std::string of_second = found(stub, "b");
        first.join();
        say(name, of_first, of_second);
      });
  add(
      "two queues",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        s.service.RequestFind(&call.context, &query, &call.stream, &s.queue(), s.other.get(), tagged(1));
        const std::string begun = taken(*s.other);
        call.stream.Finish(Ship(), grpc::Status::OK, tagged(2));
        const std::string ended = taken(s.queue(), 2);
        say(name, begun, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) { say(name, found(stub)); });

  // Streams of replies.
  const auto read_all = [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
    grpc::ClientContext context;
    const auto reader = stub.List(&context, query_of("x"));
    Ship ship;
    std::string numbers;
    while (reader->Read(&ship)) numbers += std::to_string(ship.number());
    const grpc::Status s = reader->Finish();
    say(name, numbers, shown(s), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  add(
      "list",
      [](serving& s, const std::string& name) {
        held_list call;
        Query query;
        list(s, call, query);
        std::string events = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        Ship ship;
        for (int i = 0; i < 3; ++i) {
          ship.set_number(i);
          call.stream.Write(ship, tagged(2));
          events += " " + taken(s.queue());
        }
        call.context.AddTrailingMetadata("own-trailing", "b");
        call.stream.Finish(grpc::Status(grpc::StatusCode::ABORTED, "enough"), tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, query.ask(), events, ended, call.context.IsCancelled());
      },
      read_all);
  add(
      "list with a last message",
      [](serving& s, const std::string& name) {
        held_list call;
        Query query;
        list(s, call, query);
        std::string events = taken(s.queue());
        Ship ship;
        ship.set_number(7);
        call.stream.WriteLast(ship, grpc::WriteOptions(), tagged(2));
        events += " " + taken(s.queue());
        call.stream.Finish(grpc::Status::OK, tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, events, ended);
      },
      read_all);
  add(
      "list with one end",
      [](serving& s, const std::string& name) {
        held_list call;
        Query query;
        list(s, call, query);
        std::string events = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.context.AddTrailingMetadata("own-trailing", "b");
        Ship ship;
        ship.set_number(8);
        call.stream.WriteAndFinish(ship, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, events, ended);
      },
      read_all);
  add(
      "list without messages",
      [](serving& s, const std::string& name) {
        held_list call;
        Query query;
        list(s, call, query);
        std::string events = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.Finish(grpc::Status::OK, tagged(3));
        const std::string ended = taken(s.queue(), 2);
        say(name, events, ended);
      },
      read_all);
  add(
      "list cancelled by the client",
      [](serving& s, const std::string& name) {
        held_list call;
        Query query;
        list(s, call, query);
        const std::string begun = taken(s.queue());
        Ship ship;
        call.stream.Write(ship, tagged(2));
        const std::string first = taken(s.queue());
        const std::string done = taken(s.queue());
        call.stream.Write(ship, tagged(3));
        const std::string written = taken(s.queue());
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string ended = taken(s.queue());
        say(name, begun, first, done, call.context.IsCancelled(), written, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto reader = stub.List(&context, query_of("x"));
        Ship ship;
        const bool first = reader->Read(&ship);
        context.TryCancel();
        while (reader->Read(&ship)) continue;
        say(name, first, reader->Finish().error_code());
      });

  // Streams of requests.
  add(
      "record",
      [](serving& s, const std::string& name) {
        held_record call;
        record(s, call);
        std::string events = taken(s.queue());
        Position position;
        Summary summary;
        std::string last;
        for (;;) {
          call.stream.Read(&position, tagged(2));
          last = taken(s.queue());
          events += " " + last;
          if (last != "2+") break;
          summary.set_positions(summary.positions() + position.north());
        }
        call.stream.Read(&position, tagged(3));
        events += " " + taken(s.queue());
        call.stream.Finish(summary, grpc::Status::OK, tagged(4));
        const std::string ended = taken(s.queue(), 2);
        say(name, events, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.Record(&context, &summary);
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
      "record answered early",
      [](serving& s, const std::string& name) {
        held_record call;
        record(s, call);
        std::string events = taken(s.queue());
        Position position;
        call.stream.Read(&position, tagged(2));
        events += " " + taken(s.queue());
        call.stream.FinishWithError(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no"), tagged(4));
        const std::string ended = taken(s.queue(), 2);
        call.stream.Read(&position, tagged(5));
        const std::string after = taken(s.queue());
        say(name, events, ended, after, call.context.IsCancelled());
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.Record(&context, &summary);
        Position position;
        while (writer->Write(position)) continue;
        say(name, shown(writer->Finish()));
      });
  add(
      "record cancelled by the client",
      [](serving& s, const std::string& name) {
        held_record call;
        record(s, call);
        std::string events = taken(s.queue());
        Position position;
        call.stream.Read(&position, tagged(2));
        events += " " + taken(s.queue());
        call.stream.SendInitialMetadata(tagged(5));
        events += " " + taken(s.queue());
        call.stream.Read(&position, tagged(3));
        events += " " + taken(s.queue(), 2);
        call.stream.Finish(Summary(), grpc::Status::OK, tagged(4));
        const std::string ended = taken(s.queue());
        say(name, events, ended, call.context.IsCancelled());
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = stub.Record(&context, &summary);
        const bool first = writer->Write(Position());
        writer->WaitForInitialMetadata();  // the message was read
        context.TryCancel();
        say(name, first, writer->Finish().error_code());
      });

  // Both.
  add(
      "talk",
      [](serving& s, const std::string& name) {
        held_talk call;
        talk(s, call);
        std::string events = taken(s.queue());
        call.context.AddInitialMetadata("own-initial", "a");
        call.stream.SendInitialMetadata(tagged(6));
        events += " " + taken(s.queue());
        Note note;
        for (int i = 0; i < 2; ++i) {
          call.stream.Read(&note, tagged(2));
          events += " " + taken(s.queue());
          call.stream.Write(note_of("you said " + note.text()), tagged(3));
          events += " " + taken(s.queue());
        }
        call.stream.Read(&note, tagged(4));
        events += " " + taken(s.queue());
        call.stream.WriteAndFinish(note_of("bye"), grpc::WriteOptions(), grpc::Status::OK, tagged(5));
        const std::string ended = taken(s.queue(), 2);
        say(name, events, ended);
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.Talk(&context);
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
      "talk finished while it reads",
      [](serving& s, const std::string& name) {
        held_talk call;
        talk(s, call);
        const std::string begun = taken(s.queue());
        Note note;
        call.stream.Read(&note, tagged(2));
        call.stream.Write(note_of("hello"), tagged(3));
        const std::string written = taken(s.queue());
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string ended = taken(s.queue(), 3);
        say(name, begun, written, ended, call.context.IsCancelled());
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.Talk(&context);
        Note note;
        std::string heard;
        while (stream->Read(&note)) heard += note.text() + ";";
        say(name, heard, shown(stream->Finish()));
      });
  add(
      "talk cancelled by the server",
      [](serving& s, const std::string& name) {
        held_talk call;
        talk(s, call);
        const std::string begun = taken(s.queue());
        Note note;
        call.stream.Read(&note, tagged(2));
        call.context.TryCancel();
        const std::string ended = taken(s.queue(), 2);
        call.stream.Write(note, tagged(3));
        const std::string written = taken(s.queue());
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string finished = taken(s.queue());
        say(name, begun, ended, written, finished, call.context.IsCancelled());
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = stub.Talk(&context);
        Note note;
        const bool read = stream->Read(&note);
        say(name, read, stream->Finish().error_code());
      });

  // The second server.
  add(
      "mixed methods, queue",
      [](serving& s, const std::string& name) {
        held_find call;
        Query query;
        s.mixed.RequestFind(&call.context, &query, &call.stream, s.of_mixed.get(), s.of_mixed.get(),
                            tagged(1));
        const std::string begun = taken(*s.of_mixed);
        Ship ship;
        ship.set_number(3);
        call.stream.Finish(ship, grpc::Status::OK, tagged(2));
        const std::string ended = taken(*s.of_mixed, 2);
        say(name, s.mixed.has_async_methods(), s.mixed.has_synchronous_methods(), begun, query.ask(), ended);
      },
      [](Harbour::Stub&, Harbour::Stub& second, const std::string& name) { say(name, found(second)); });
  add(
      "mixed methods, handler", [](serving&, const std::string&) {},
      [](Harbour::Stub&, Harbour::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        Summary summary;
        const auto writer = second.Record(&context, &summary);
        writer->Write(Position());
        writer->WritesDone();
        const grpc::Status s = writer->Finish();
        say(name, shown(s), summary.positions());
      });
  add(
      "mixed methods, handler that does not exist", [](serving&, const std::string&) {},
      [](Harbour::Stub&, Harbour::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        const auto reader = second.List(&context, query_of("x"));
        Ship ship;
        const bool read = reader->Read(&ship);
        say(name, read, reader->Finish().error_code());
      });
  add(
      "mixed methods, raw",
      [](serving& s, const std::string& name) {
        held<grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call;
        s.mixed.RequestTalk(&call.context, &call.stream, s.of_mixed.get(), s.of_mixed.get(), tagged(1));
        std::string events = taken(*s.of_mixed);
        grpc::ByteBuffer message;
        call.stream.Read(&message, tagged(2));
        events += " " + taken(*s.of_mixed);
        call.stream.Write(message, tagged(3));
        events += " " + taken(*s.of_mixed);
        const std::size_t length = message.Length();
        call.stream.Read(&message, tagged(4));
        events += " " + taken(*s.of_mixed);
        call.stream.Finish(grpc::Status::OK, tagged(5));
        const std::string ended = taken(*s.of_mixed, 2);
        say(name, events, length, ended);
      },
      [](Harbour::Stub&, Harbour::Stub& second, const std::string& name) {
        grpc::ClientContext context;
        const auto stream = second.Talk(&context);
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
        held_talk call;
        talk(s, call);
        std::string events = taken(s.queue());
        Note note;
        call.stream.Read(&note, tagged(2));  // comes after the call that no request takes
        events += " " + taken(s.queue());
        held_list list_wanted;
        held_record record_wanted;
        Query query;
        s.service.RequestList(&list_wanted.context, &query, &list_wanted.stream, &s.queue(), &s.queue(),
                              tagged(11));
        s.service.RequestRecord(&record_wanted.context, &record_wanted.stream, &s.queue(), s.other.get(),
                                tagged(12));
        call.stream.Read(&note, tagged(3));
        std::thread ending([&] { s.server->Shutdown(system_clock::now() + 300ms); });
        const std::string wanted = taken(s.queue());
        const std::string wanted_other = taken(*s.other);
        const std::string ended = taken(s.queue(), 2);
        const bool cancelled = call.context.IsCancelled();
        ending.join();
        call.stream.Finish(grpc::Status::OK, tagged(4));
        const std::string finished = taken(s.queue());
        held_find late;
        find(s, late, query, 13);
        const std::string refused = taken(s.queue());
        s.server->Shutdown();
        s.server->Wait();
        say(name, events, wanted, wanted_other, ended, cancelled, finished, refused);
        s.queue().Shutdown();
        s.other->Shutdown();
        const std::string drained = taken(s.queue());
        say(name + " drained", drained, taken(*s.other));
      },
      [](Harbour::Stub& stub, Harbour::Stub&, const std::string& name) {
        grpc::CompletionQueue queue;
        // By one queue, and so on one connection: the message of the second comes after the first.
        grpc::ClientContext of_unrequested;
        Ship ship;
        grpc::Status unrequested;
        stub.AsyncFind(&of_unrequested, query_of("x"), &queue)->Finish(&ship, &unrequested, tagged(1));
        grpc::ClientContext context;
        const auto stream = stub.AsyncTalk(&context, &queue, tagged(2));
        const std::string began = taken(queue);
        stream->Write(note_of("hello"), tagged(3));
        const std::string wrote = taken(queue);
        Note note;
        stream->Read(&note, tagged(4));
        const std::set<std::string> ended = {taken(queue), taken(queue)};  // in any order
        grpc::Status s;
        stream->Finish(&s, tagged(5));
        say(name, began, wrote, *ended.begin(), *ended.rbegin(), taken(queue), s.error_code(),
            unrequested.error_code());
      });
  add(
      "shutdown of a server without calls",
      [](serving& s, const std::string& name) {
        held_find wanted;
        Query query;
        s.mixed.RequestFind(&wanted.context, &query, &wanted.stream, s.of_mixed.get(), s.of_mixed.get(),
                            tagged(1));
        s.second->Shutdown();
        s.of_mixed->Shutdown();
        const std::string refused = taken(*s.of_mixed);
        say(name, refused, taken(*s.of_mixed));
      },
      [](Harbour::Stub&, Harbour::Stub&, const std::string&) {});
  return all;
}

int run_server() {
  serving s;
  int port = 0;
  {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&s.service);
    s.owned = builder.AddCompletionQueue();
    s.other = builder.AddCompletionQueue();
    s.server = builder.BuildAndStart();
  }
  {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &s.second_port);
    builder.RegisterService(&s.mixed);
    s.of_mixed = builder.AddCompletionQueue();
    s.second = builder.BuildAndStart();
  }
  if (!s.server || !s.second) return 1;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  {
    held_find call;
    Query query;
    find(s, call, query);
    taken(s.queue());
    Ship ship;
    ship.set_number(s.second_port);
    call.stream.Finish(ship, grpc::Status::OK, tagged(2));
    taken(s.queue(), 2);
  }
  for (const both_sides& c : cases()) c.serve(s, std::string("server ") + c.name);
  return 0;
}

int run_client(const std::string& port) {
  const auto stub_at = [](const std::string& p) { return Harbour::NewStub(harbour::channel_to(p)); };
  const auto stub = stub_at(port);
  Ship ship;
  grpc::ClientContext context;
  if (!stub->Find(&context, Query(), &ship).ok()) return 1;
  const auto second = stub_at(std::to_string(ship.number()));
  for (const both_sides& c : cases()) c.call(*stub, *second, c.name);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  return harbour::run_program(count, words, {{"server", run_server}, {"client", "PORT", run_client}});
}
