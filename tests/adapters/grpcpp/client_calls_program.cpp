// A program in the API of grpc++, compiled with both libraries: a server, and a client of the synchronous
// functions and of completion queues that prints what it sees in each case as "case: what".
//
//   client_calls_program server           prints its address, and serves until SIGTERM
//   client_calls_program client PORT
//   client_calls_program load LIBRARY     loads a library, and makes a channel
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "queue_cases.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace call_kinds::client_calls {
namespace {

using namespace std::chrono_literals;

void add_metadata(grpc::ClientContext& context) {
  context.AddMetadata("echo-a", "1");
  context.AddMetadata("echo-a", "2");
  context.AddMetadata("echo-bytes-bin", std::string("\x00\xff,x", 4));
  context.AddMetadata("trail-b", "3");
}

void unary(CallKinds::Stub& stub) {
  const auto call = [&](const std::string& name, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    const grpc::Status s = stub.Unary(&context, q, &reply);
    say("unary " + name, shown(s), reply.name(), reply.number(), reply.load().size());
    say("metadata of " + name, own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  const auto nothing = [](grpc::ClientContext&) {};
  call("plain", query("hello", 7), nothing);
  call("empty", Query(), nothing);
  call("metadata", query("hello", 7), add_metadata);
  for (int code = 1; code <= 16; ++code) call("error " + std::to_string(code), query("error", code), nothing);
  call("error with details", query("error", 5, "details"), add_metadata);
  call("error beyond the codes", query("error", 99), nothing);
  call("throwing handler", query("throw"), [](grpc::ClientContext& c) { add_metadata(c); });
  call("peer", query("peer"), nothing);
  call("identity", query("identity"), nothing);
  call("deadline", query("deadline"),
       [](grpc::ClientContext& c) { c.set_deadline(std::chrono::system_clock::now() + 100s); });
  call("gpr deadline", query("deadline"), [](grpc::ClientContext& c) {
    c.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(200, GPR_TIMESPAN)));
  });
  call("no deadline", query("deadline"), nothing);
  call("compression", query("compress", 1, std::string(2000, 'a')),
       [](grpc::ClientContext& c) { c.set_compression_algorithm(GRPC_COMPRESS_GZIP); });
  call("large reply", query("large", 3'000'000), nothing);
  call("large request", query("length", 0, std::string(3'000'000, 'x')), nothing);
}

// The library's own statuses: their texts differ, their codes do not.
void failures(CallKinds::Stub& stub, Unimplemented::Stub& other) {
  const auto call = [&](const std::string& name, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    say("failure " + name, stub.Unary(&context, q, &reply).error_code());
  };
  const auto nothing = [](grpc::ClientContext&) {};
  call("deadline in the past", query("hello"),
       [](grpc::ClientContext& c) { c.set_deadline(std::chrono::system_clock::now() - 1s); });
  call("deadline that passes", query("wait for cancel"),
       [](grpc::ClientContext& c) { c.set_deadline(std::chrono::system_clock::now() + 100ms); });
  call("cancel before the start", query("hello"), [](grpc::ClientContext& c) { c.TryCancel(); });
  call("cancel by the server", query("cancel yourself"), nothing);
  call("reply beyond the limit", query("large", 5'000'000), nothing);
  call("request beyond the limit", query("length", 0, std::string(5'000'000, 'x')), nothing);
  call("plaintext token", query("hello"),
       [](grpc::ClientContext& c) { c.set_credentials(grpc::AccessTokenCredentials("t")); });
  {
    grpc::ClientContext context;
    Reply reply;
    say("failure unknown service", other.Call(&context, query("hello"), &reply).error_code());
  }
  {
    grpc::ClientContext context;
    Reply reply;
    std::thread later([&] {
      grpc::ClientContext asking;
      Reply answer;
      stub.Unary(&asking, query("when another waits"), &answer);
      context.TryCancel();
    });
    say("failure cancel from a thread", stub.Unary(&context, query("wait for cancel"), &reply).error_code());
    later.join();
  }
  const auto nowhere =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  {
    grpc::ClientContext context;
    Reply reply;
    say("failure no server", nowhere->Unary(&context, query("hello"), &reply).error_code());
  }
  {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + 100ms);
    Reply reply;
    say("failure no server, ready awaited", nowhere->Unary(&context, query("hello"), &reply).error_code());
  }
  {
    grpc::ClientContext context;
    const auto reader = nowhere->ServerStream(&context, query("hello"));
    Reply reply;
    say("failure no server, stream", reader->Read(&reply), reader->Finish().error_code());
  }
}

void server_streams(CallKinds::Stub& stub) {
  const auto call = [&](const std::string& name, const Query& q) {
    grpc::ClientContext context;
    add_metadata(context);
    const auto reader = stub.ServerStream(&context, q);
    Reply reply;
    int count = 0;
    bool in_order = true;
    while (reader->Read(&reply)) in_order = in_order && reply.number() == count++;
    const bool again = reader->Read(&reply);
    const grpc::Status s = reader->Finish();
    say("server stream " + name, count, in_order, again, shown(s), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  call("of none", query("", 0));
  call("of three", query("", 3));
  call("of a thousand", query("", 1000));
  call("that fails", query("error", 2));
  call("that fails at once", query("error", 0));
  {
    grpc::ClientContext context;
    add_metadata(context);
    const auto reader = stub.ServerStream(&context, query("headers first", 1));
    reader->WaitForInitialMetadata();
    say("server stream headers", own(context.GetServerInitialMetadata()));
    Reply reply;
    while (reader->Read(&reply)) continue;
    say("server stream after headers", shown(reader->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto reader = stub.ServerStream(&context, query("until cancelled", 1));
    Reply reply;
    say("server stream first of endless", reader->Read(&reply));
    context.TryCancel();
    while (reader->Read(&reply)) continue;
    say("server stream cancelled", reader->Finish().error_code());
  }
  {
    grpc::ClientContext context;
    const auto reader = stub.ServerStream(&context, query("cancel yourself", 0));
    Reply reply;
    say("server stream cancelled by the server", reader->Read(&reply), reader->Finish().error_code());
  }
}

Position at(int north, int east) {
  Position p;
  p.set_north(north);
  p.set_east(east);
  return p;
}

void client_streams(CallKinds::Stub& stub) {
  const auto call = [&](const std::string& name, const std::vector<Position>& sent, bool last) {
    grpc::ClientContext context;
    add_metadata(context);
    Summary summary;
    const auto writer = stub.ClientStream(&context, &summary);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (last && i + 1 == sent.size()) writer->WriteLast(sent[i], grpc::WriteOptions());
      else writer->Write(sent[i]);
    }
    if (!last) writer->WritesDone();
    const grpc::Status s = writer->Finish();
    say("client stream " + name, shown(s), summary.positions(), summary.distance(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()));
  };
  call("of none", {}, false);
  call("of three", {at(1, 2), at(3, 4), at(5, 6)}, false);
  call("with a last one", {at(1, 2), at(3, 4)}, true);
  call("that fails", {at(1, 2), at(999, 0)}, false);
  call("answered early", {at(1, 2), at(0, 999)}, false);
}

void bidi_streams(CallKinds::Stub& stub) {
  {
    grpc::ClientContext context;
    add_metadata(context);
    const auto stream = stub.BidiStream(&context);
    Note note;
    for (const char* const word : {"ahoy", "", "again"}) {
      note.set_text(word);
      const bool written = stream->Write(note);
      const bool read = stream->Read(&note);
      say("bidi stream about " + std::string(word), written, read, note.text());
    }
    const bool done = stream->WritesDone();
    const bool last = stream->Read(&note);
    say("bidi stream ends", done, last, note.text(), stream->Read(&note));
    say("bidi stream status", shown(stream->Finish()), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.BidiStream(&context);
    std::thread writing([&] {
      Note note;
      for (int i = 0; i < 500; ++i) {
        note.set_text(std::to_string(i));
        if (!stream->Write(note)) return;
      }
      stream->WritesDone();
    });
    Note note;
    int count = 0;
    while (stream->Read(&note)) ++count;
    writing.join();
    say("bidi stream of two threads", count, shown(stream->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.BidiStream(&context);
    Note note;
    note.set_text("error");
    stream->Write(note);
    say("bidi stream that fails", stream->Read(&note), shown(stream->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.BidiStream(&context);
    Note note;
    note.set_text("cancel yourself");
    stream->Write(note);
    while (stream->Read(&note)) continue;
    say("bidi stream cancelled by the server", stream->Finish().error_code());
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.BidiStream(&context);
    context.TryCancel();
    Note note;
    say("bidi stream cancelled", stream->Read(&note), stream->Finish().error_code());
  }
}

void states(const std::string& target) {
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  say("state before a call", channel->GetState(false));
  say("state does not change",
      channel->WaitForStateChange(GRPC_CHANNEL_IDLE, std::chrono::system_clock::now() + 50ms));
  say("state connected", channel->WaitForConnected(std::chrono::system_clock::now() + 10s),
      channel->GetState(false));
  const auto nowhere = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  say("state of no server", nowhere->WaitForConnected(std::chrono::system_clock::now() + 100ms));
}

// --- queues

void queued_unary(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  grpc::CompletionQueue queue;
  const auto nothing = [](grpc::ClientContext&) {};
  const auto call = [&](const std::string& name, CallKinds::Stub& by, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    grpc::Status s;
    by.AsyncUnary(&context, q, &queue)->Finish(&reply, &s, tagged(1));  // the reader is gone
    const std::string ended = taken(queue);
    say("queued unary " + name, ended, s.error_code(), reply.name(), reply.number(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()));
  };
  call("plain", stub, query("hello", 7), nothing);
  call("metadata", stub, query("hello", 7), add_metadata);
  call("error", stub, query("error", 5, "details"), add_metadata);
  call("large reply", stub, query("large", 3'000'000), nothing);
  call("reply beyond the limit", stub, query("large", 5'000'000), nothing);
  call("deadline in the past", stub, query("hello"),
       [](grpc::ClientContext& c) { c.set_deadline(std::chrono::system_clock::now() - 1s); });
  call("deadline that passes", stub, query("wait for cancel"),
       [](grpc::ClientContext& c) { c.set_deadline(std::chrono::system_clock::now() + 100ms); });
  call("cancel before the start", stub, query("hello"), [](grpc::ClientContext& c) { c.TryCancel(); });
  call("no server", nowhere, query("hello"), nothing);
  {
    grpc::ClientContext context;
    add_metadata(context);
    Reply reply;
    grpc::Status s;
    const auto reader = stub.PrepareAsyncUnary(&context, query("hello", 3), &queue);
    reader->StartCall();
    reader->ReadInitialMetadata(tagged(1));
    const std::string headers = taken(queue);
    say("queued unary headers", headers, own(context.GetServerInitialMetadata()));
    reader->Finish(&reply, &s, tagged(2));
    const std::string ended = taken(queue);
    say("queued unary after headers", ended, shown(s), reply.number(),
        own(context.GetServerTrailingMetadata()));
  }
  {
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    const auto reader = stub.AsyncUnary(&context, query("wait for cancel"), &queue);
    reader->Finish(&reply, &s, tagged(1));
    context.TryCancel();
    const std::string ended = taken(queue);
    say("queued unary cancelled", ended, s.error_code());
  }
}

void queued_crowd(CallKinds::Stub& stub) {
  struct pending {
    grpc::ClientContext context;
    Reply reply;
    grpc::Status status;
  };
  constexpr int calls = 200;
  grpc::CompletionQueue queues[2];
  std::vector<pending> all(calls);
  std::atomic<int> right{0};
  std::vector<std::thread> takers;
  for (int t = 0; t < 4; ++t) {
    takers.emplace_back([&right, &queue = queues[t % 2]] {
      void* tag = nullptr;
      bool ok = false;
      while (queue.Next(&tag, &ok)) {
        const auto& one = *static_cast<pending*>(tag);
        if (ok && one.status.ok() && one.reply.name() == "hello") ++right;
      }
    });
  }
  for (int i = 0; i < calls; ++i) {
    pending& one = all[static_cast<std::size_t>(i)];
    stub.AsyncUnary(&one.context, query("hello", i), &queues[i % 2])->Finish(&one.reply, &one.status, &one);
  }
  for (auto& queue : queues) queue.Shutdown();  // with calls pending
  for (std::thread& t : takers) t.join();
  say("queued calls of two queues and four threads", right);
}

void queued_lists(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  grpc::CompletionQueue queue;
  const auto call = [&](const std::string& name, CallKinds::Stub& by, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    const auto reader = by.AsyncServerStream(&context, q, &queue, tagged(1));
    say("queued server stream start " + name, taken(queue));
    Reply reply;
    int count = 0;
    std::string last;
    do {
      reader->Read(&reply, tagged(2));
    } while ((last = taken(queue)) == "2+" && ++count < 2000);
    reader->Read(&reply, tagged(3));
    last += " " + taken(queue);
    grpc::Status s;
    reader->Finish(&s, tagged(4));
    last += " " + taken(queue);
    say("queued server stream " + name, count, last, s.error_code(), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  const auto nothing = [](grpc::ClientContext&) {};
  call("of three", stub, query("", 3), add_metadata);
  call("of a thousand", stub, query("", 1000), nothing);
  call("that fails", stub, query("error", 2), add_metadata);
  call("cancelled before the start", stub, query("", 3), [](grpc::ClientContext& c) { c.TryCancel(); });
  call("cancelled by the server", stub, query("cancel yourself", 0), nothing);
  call("of no server", nowhere, query("", 3), nothing);
  {
    grpc::ClientContext context;
    add_metadata(context);
    const auto reader = stub.PrepareAsyncServerStream(&context, query("headers first", 2), &queue);
    reader->StartCall(tagged(1));
    const std::string begun = taken(queue);
    reader->ReadInitialMetadata(tagged(2));
    const std::string headers = taken(queue);
    say("queued server stream headers", begun, headers, own(context.GetServerInitialMetadata()));
    grpc::Status s;
    reader->Finish(&s, tagged(3));  // ends after the messages were read
    Reply reply;
    std::string reads;
    for (int i = 0; i < 2; ++i) {
      reader->Read(&reply, tagged(4));
      reads += taken(queue) + " ";
    }
    reader->Read(&reply, tagged(5));
    // The events of the end: with grpc++ that comes first whose operation finds the end.
    const std::string ended = taken_in_any_order(queue, 2);
    say("queued server stream finished early", reads, ended, shown(s));
  }
  {
    grpc::ClientContext context;
    const auto reader = stub.AsyncServerStream(&context, query("until cancelled", 1), &queue, tagged(1));
    Reply reply;
    grpc::Status s;
    const std::string begun = taken(queue);
    reader->Read(&reply, tagged(2));
    const std::string first = taken(queue);
    reader->Finish(&s, tagged(3));
    context.TryCancel();
    const std::string ended = taken(queue);
    say("queued server stream cancelled with an unread message", begun, first, ended, s.error_code());
  }
}

void queued_end(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  grpc::CompletionQueue queue;
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 200ms);
    const auto reader = stub.AsyncServerStream(&context, query("until cancelled", 1), &queue, tagged(1));
    const std::string begun = taken(queue);
    grpc::Status s;
    reader->Finish(&s, tagged(2));
    const std::string ended = taken(queue);
    say("queued server stream whose deadline passes", begun, ended, s.error_code());
  }
  for (const bool cancelled : {false, true}) {
    grpc::ClientContext context;
    if (!cancelled) context.set_deadline(std::chrono::system_clock::now() + 200ms);
    const auto reader = stub.AsyncServerStream(&context, query("", 2), &queue, tagged(1));
    const std::string begun = taken(queue);
    Reply reply;
    reader->Read(&reply, tagged(2));
    const std::string first = taken(queue);
    grpc::Status s;
    reader->Finish(&s, tagged(3));
    if (cancelled) context.TryCancel();
    const std::string ended = taken(queue);
    say(std::string("queued server stream whose server has ended, ") + (cancelled ? "cancelled" : "expired") +
            " with an unread message",
        begun, first, ended, s.error_code());
  }
  {
    grpc::ClientContext context;
    const auto stream = nowhere.AsyncBidiStream(&context, &queue, tagged(1));
    const std::string begun = taken(queue);
    Note note;
    stream->Write(note, tagged(2));
    const std::string written = taken(queue);
    grpc::Status s;
    stream->Finish(&s, tagged(3));
    const std::string ended = taken(queue);
    say("queued bidi stream of no server", begun, written, ended, s.error_code());
  }
  for (const bool waits : {false, true}) {
    const std::string server = waits ? " until the deadline" : " of no server";
    const auto prepare = [waits](grpc::ClientContext& context) {
      context.set_wait_for_ready(waits);
      if (waits) context.set_deadline(std::chrono::system_clock::now() + 100ms);
    };
    grpc::Status s;
    {
      grpc::ClientContext context;
      prepare(context);
      const auto stream = nowhere.AsyncBidiStream(&context, &queue, tagged(1));
      const std::string begun = taken(queue);
      stream->Finish(&s, tagged(2));
      const std::string ended = taken(queue);
      say("queued start of a bidi stream" + server, begun, ended, s.error_code());
    }
    {
      grpc::ClientContext context;
      prepare(context);
      Summary summary;
      const auto writer = nowhere.AsyncClientStream(&context, &summary, &queue, tagged(1));
      const std::string begun = taken(queue);
      writer->Finish(&s, tagged(2));
      const std::string ended = taken(queue);
      say("queued start of a client stream" + server, begun, ended, s.error_code());
    }
    {
      grpc::ClientContext context;
      prepare(context);
      const auto reader = nowhere.AsyncServerStream(&context, query("x", 1), &queue, tagged(1));
      const std::string begun = taken(queue);
      reader->Finish(&s, tagged(2));
      const std::string ended = taken(queue);
      say("queued start of a server stream" + server, begun, ended, s.error_code());
    }
  }
}

void queued_records(CallKinds::Stub& stub) {
  grpc::CompletionQueue queue;
  const auto call = [&](const std::string& name, const std::vector<Position>& sent, bool last) {
    grpc::ClientContext context;
    add_metadata(context);
    Summary summary;
    grpc::Status s;
    const auto writer = stub.AsyncClientStream(&context, &summary, &queue, tagged(1));
    std::string events = taken(queue);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (last && i + 1 == sent.size()) writer->WriteLast(sent[i], grpc::WriteOptions(), tagged(2));
      else writer->Write(sent[i], tagged(2));
      events += " " + taken(queue);
    }
    if (!last) {
      writer->WritesDone(tagged(3));
      events += " " + taken(queue);
    }
    writer->Finish(&s, tagged(4));
    const std::string ended = taken(queue);
    say("queued client stream " + name, events, ended, shown(s), summary.positions(), summary.distance(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()));
  };
  call("of none", {}, false);
  call("of three", {at(1, 2), at(3, 4), at(5, 6)}, false);
  call("with a last one", {at(1, 2), at(3, 4)}, true);
}

void queued_talks(CallKinds::Stub& stub) {
  grpc::CompletionQueue queue;
  {
    grpc::ClientContext context;
    add_metadata(context);
    const auto stream = stub.AsyncBidiStream(&context, &queue, tagged(1));
    std::string events = taken(queue);
    Note note;
    for (const char* const word : {"ahoy", "", "again"}) {
      Note sent;
      sent.set_text(word);
      stream->Read(&note, tagged(2));  // at the same time as the write
      stream->Write(sent, tagged(3));
      events += " " + taken(queue, 2) + " " + note.text();
    }
    stream->WritesDone(tagged(4));
    events += " " + taken(queue);
    stream->Read(&note, tagged(5));
    events += " " + taken(queue) + " " + note.text();
    stream->Read(&note, tagged(6));
    events += " " + taken(queue);
    grpc::Status s;
    stream->Finish(&s, tagged(7));
    const std::string ended = taken(queue);
    say("queued bidi stream", events, ended, shown(s), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  }
  {
    grpc::ClientContext context;
    context.TryCancel();
    const auto stream = stub.AsyncBidiStream(&context, &queue, tagged(1));
    std::string events = taken(queue);
    Note note;
    grpc::Status s;
    stream->Write(note, tagged(2));
    events += " " + taken(queue);
    stream->Read(&note, tagged(3));
    events += " " + taken(queue);
    stream->WritesDone(tagged(4));
    events += " " + taken(queue);
    stream->Finish(&s, tagged(5));
    const std::string ended = taken(queue);
    say("queued bidi stream cancelled before the start", events, ended, s.error_code());
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.AsyncBidiStream(&context, &queue, tagged(1));
    std::string events = taken(queue);
    Note note;
    grpc::Status s;
    stream->Read(&note, tagged(2));
    stream->Finish(&s, tagged(3));
    context.TryCancel();
    const std::string ended = taken(queue, 2);
    say("queued bidi stream cancelled", events, ended, s.error_code());
  }
  {
    grpc::ClientContext context;
    context.set_initial_metadata_corked(true);
    const auto stream = stub.AsyncBidiStream(&context, &queue, nullptr);  // has no event
    Note note;
    note.set_text("ahoy");
    stream->Write(note, tagged(1));
    std::string events = taken(queue);
    stream->Read(&note, tagged(2));
    events += " " + taken(queue) + " " + note.text();
    stream->WritesDone(tagged(3));
    events += " " + taken(queue);
    grpc::Status s;
    stream->Read(&note, tagged(4));
    events += " " + taken(queue);
    stream->Finish(&s, tagged(5));
    const std::string ended = taken(queue);
    say("queued bidi stream corked", events, ended, shown(s));
  }
  {
    grpc::ClientContext context;
    context.set_initial_metadata_corked(true);
    Summary summary;
    const auto stream = stub.PrepareAsyncClientStream(&context, &summary, &queue);
    stream->StartCall(nullptr);
    Position position;
    position.set_north(3);
    stream->WriteLast(position, grpc::WriteOptions(), tagged(1));
    const std::string written = taken(queue);
    grpc::Status s;
    stream->Finish(&s, tagged(2));
    const std::string ended = taken(queue);
    say("queued client stream corked", written, ended, shown(s), summary.positions());
  }
}

void queues_alone(const std::string& target) {
  const auto now = [] { return std::chrono::system_clock::now(); };
  void* tag = nullptr;
  bool ok = false;
  {
    grpc::CompletionQueue queue;
    say("queue empty", queue.AsyncNext(&tag, &ok, now() - 1s), queue.AsyncNext(&tag, &ok, now() + 10ms));
    grpc::Alarm past(&queue, now() - 1s, tagged(1));
    say("alarm in the past", taken(queue));
    grpc::Alarm soon;
    soon.Set(&queue, gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(20, GPR_TIMESPAN)),
             tagged(2));
    say("alarm soon", taken(queue));
    soon.Cancel();
    soon.Set(&queue, now() + 10ms, tagged(3));
    say("alarm again", taken(queue));
    grpc::Alarm late(&queue, now() + 100s, tagged(4));
    grpc::Alarm moved(std::move(late));
    moved.Cancel();
    say("alarm cancelled", taken(queue));
    {
      const grpc::Alarm destroyed(&queue, gpr_inf_future(GPR_CLOCK_REALTIME), tagged(5));
    }
    say("alarm destroyed", taken(queue));
    grpc::Alarm last(&queue, now() + 20ms, tagged(6));
    queue.Shutdown();
    const std::string of_alarm = taken(queue);
    say("queue shut down", of_alarm, taken(queue), queue.AsyncNext(&tag, &ok, now() + 1s));
  }
  {
    grpc::CompletionQueue queue;
    const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
    channel->NotifyOnStateChange(GRPC_CHANNEL_IDLE, now() + 30ms, &queue, tagged(1));
    const std::string unchanged = taken(queue);
    channel->NotifyOnStateChange(GRPC_CHANNEL_IDLE, now() + 10s, &queue, tagged(2));
    channel->GetState(true);
    const std::string ended = taken(queue);
    say("state on a queue", unchanged, ended);
  }
}

int run_client(const std::string& port) {
  const auto channel = channel_to(port);
  const auto stub = CallKinds::NewStub(channel);
  const auto other = Unimplemented::NewStub(channel);
  unary(*stub);
  failures(*stub, *other);
  server_streams(*stub);
  client_streams(*stub);
  bidi_streams(*stub);
  states("127.0.0.1:" + port);
  const auto nowhere =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  queued_unary(*stub, *nowhere);
  queued_crowd(*stub);
  queued_lists(*stub, *nowhere);
  queued_end(*stub, *nowhere);
  queued_records(*stub);
  queued_talks(*stub);
  queues_alone("127.0.0.1:" + port);
  return 0;
}

int run_server() {
  call_kinds_service service;
  return serve_until_sigterm([&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); });
}

int load(const std::string& library) {
  if (!::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    std::cerr << ::dlerror() << "\n";
    return 3;
  }
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  say("made a channel", channel->GetState(false));
  return 0;
}

const program entry("client_calls",
                    {{"server", run_server}, {"client", "PORT", run_client}, {"load", "LIBRARY", load}});

}  // namespace
}  // namespace call_kinds::client_calls
