// A program in the synchronous API of grpc++, compiled with both libraries: a server, and a client that
// prints what it sees in each case as "case: what".
//
//   harbour_program server           prints its address, and serves until SIGTERM
//   harbour_program client PORT
//   harbour_program load LIBRARY     loads a library, and makes a channel
#include "harbour.grpc.pb.h"
#include "harbour_service.hpp"

#include <grpcpp/grpcpp.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using harbour::Harbour;
using harbour::Lighthouse;
using harbour::Note;
using harbour::Position;
using harbour::Query;
using harbour::Ship;
using harbour::Summary;
using metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

template <class... Parts>
void say(const std::string& name, const Parts&... parts) {
  std::cout << name << ":";
  ((std::cout << " " << parts), ...);
  std::cout << std::endl;
}

std::string shown(const grpc::Status& s) {
  std::string all = std::to_string(s.error_code());
  if (!s.error_message().empty()) all += " '" + s.error_message() + "'";
  for (std::size_t at = 0; (at = all.find('\n', at)) != all.npos; at += 2) all.replace(at, 1, "\\n");
  if (!s.error_details().empty()) all += " [" + s.error_details() + "]";
  return all;
}

// The pairs that the program itself has sent.
std::string own(const metadata& pairs) {
  std::string all;
  for (const auto& [key, value] : pairs) {
    if (key.starts_with("echo-") || key.starts_with("trail-"))
      all += harbour::text(key) + "=" + harbour::text(value) + ";";
  }
  return all.empty() ? "none" : all;
}

Query query(const std::string& ask, int number = 0, std::string load = "") {
  Query q;
  q.set_ask(ask);
  q.set_number(number);
  q.set_load(std::move(load));
  return q;
}

void add_metadata(grpc::ClientContext& context) {
  context.AddMetadata("echo-a", "1");
  context.AddMetadata("echo-a", "2");
  context.AddMetadata("echo-bytes-bin", std::string("\x00\xff,x", 4));
  context.AddMetadata("trail-b", "3");
}

void unary(Harbour::Stub& stub) {
  const auto call = [&](const std::string& name, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    Ship ship;
    const grpc::Status s = stub.Find(&context, q, &ship);
    say("unary " + name, shown(s), ship.name(), ship.number(), ship.load().size());
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
void failures(Harbour::Stub& stub, Lighthouse::Stub& other) {
  const auto call = [&](const std::string& name, const Query& q, auto prepare) {
    grpc::ClientContext context;
    prepare(context);
    Ship ship;
    say("failure " + name, stub.Find(&context, q, &ship).error_code());
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
    Ship ship;
    say("failure unknown service", other.Shine(&context, query("hello"), &ship).error_code());
  }
  {
    grpc::ClientContext context;
    Ship ship;
    std::thread later([&] {
      grpc::ClientContext asking;
      Ship answer;
      stub.Find(&asking, query("when another waits"), &answer);
      context.TryCancel();
    });
    say("failure cancel from a thread", stub.Find(&context, query("wait for cancel"), &ship).error_code());
    later.join();
  }
  const auto nowhere =
      Harbour::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  {
    grpc::ClientContext context;
    Ship ship;
    say("failure no server", nowhere->Find(&context, query("hello"), &ship).error_code());
  }
  {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + 100ms);
    Ship ship;
    say("failure no server, ready awaited", nowhere->Find(&context, query("hello"), &ship).error_code());
  }
  {
    grpc::ClientContext context;
    const auto reader = nowhere->List(&context, query("hello"));
    Ship ship;
    say("failure no server, stream", reader->Read(&ship), reader->Finish().error_code());
  }
}

void lists(Harbour::Stub& stub) {
  const auto call = [&](const std::string& name, const Query& q) {
    grpc::ClientContext context;
    add_metadata(context);
    const auto reader = stub.List(&context, q);
    Ship ship;
    int count = 0;
    bool in_order = true;
    while (reader->Read(&ship)) in_order = in_order && ship.number() == count++;
    const bool again = reader->Read(&ship);
    const grpc::Status s = reader->Finish();
    say("list " + name, count, in_order, again, shown(s), own(context.GetServerInitialMetadata()),
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
    const auto reader = stub.List(&context, query("headers first", 1));
    reader->WaitForInitialMetadata();
    say("list headers", own(context.GetServerInitialMetadata()));
    Ship ship;
    while (reader->Read(&ship)) continue;
    say("list after headers", shown(reader->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto reader = stub.List(&context, query("until cancelled", 1));
    Ship ship;
    say("list first of endless", reader->Read(&ship));
    context.TryCancel();
    while (reader->Read(&ship)) continue;
    say("list cancelled", reader->Finish().error_code());
  }
  {
    grpc::ClientContext context;
    const auto reader = stub.List(&context, query("cancel yourself", 0));
    Ship ship;
    say("list cancelled by the server", reader->Read(&ship), reader->Finish().error_code());
  }
}

Position at(int north, int east) {
  Position p;
  p.set_north(north);
  p.set_east(east);
  return p;
}

void records(Harbour::Stub& stub) {
  const auto call = [&](const std::string& name, const std::vector<Position>& sent, bool last) {
    grpc::ClientContext context;
    add_metadata(context);
    Summary summary;
    const auto writer = stub.Record(&context, &summary);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (last && i + 1 == sent.size()) writer->WriteLast(sent[i], grpc::WriteOptions());
      else writer->Write(sent[i]);
    }
    if (!last) writer->WritesDone();
    const grpc::Status s = writer->Finish();
    say("record " + name, shown(s), summary.positions(), summary.distance(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()));
  };
  call("of none", {}, false);
  call("of three", {at(1, 2), at(3, 4), at(5, 6)}, false);
  call("with a last one", {at(1, 2), at(3, 4)}, true);
  call("that fails", {at(1, 2), at(999, 0)}, false);
  call("answered early", {at(1, 2), at(0, 999)}, false);
}

void talks(Harbour::Stub& stub) {
  {
    grpc::ClientContext context;
    add_metadata(context);
    const auto stream = stub.Talk(&context);
    Note note;
    for (const char* const word : {"ahoy", "", "again"}) {
      note.set_text(word);
      const bool written = stream->Write(note);
      const bool read = stream->Read(&note);
      say("talk about " + std::string(word), written, read, note.text());
    }
    const bool done = stream->WritesDone();
    const bool last = stream->Read(&note);
    say("talk ends", done, last, note.text(), stream->Read(&note));
    say("talk status", shown(stream->Finish()), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.Talk(&context);
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
    say("talk of two threads", count, shown(stream->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.Talk(&context);
    Note note;
    note.set_text("error");
    stream->Write(note);
    say("talk that fails", stream->Read(&note), shown(stream->Finish()));
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.Talk(&context);
    Note note;
    note.set_text("cancel yourself");
    stream->Write(note);
    while (stream->Read(&note)) continue;
    say("talk cancelled by the server", stream->Finish().error_code());
  }
  {
    grpc::ClientContext context;
    const auto stream = stub.Talk(&context);
    context.TryCancel();
    Note note;
    say("talk cancelled", stream->Read(&note), stream->Finish().error_code());
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

int run_client(const std::string& target) {
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  const auto stub = Harbour::NewStub(channel);
  const auto other = Lighthouse::NewStub(channel);
  std::cout << std::boolalpha;
  unary(*stub);
  failures(*stub, *other);
  lists(*stub);
  records(*stub);
  talks(*stub);
  states(target);
  return 0;
}

int run_server() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  harbour::harbour_service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  int ended_by = 0;
  ::sigwait(&ends, &ended_by);
  server->Shutdown();
  server->Wait();
  return 0;
}

int load(const char* library) {
  if (!::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    std::cerr << ::dlerror() << "\n";
    return 3;
  }
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  say("made a channel", channel->GetState(false));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "server") return run_server();
  if (mode == "client" && count == 3) return run_client(std::string("127.0.0.1:") + words[2]);
  if (mode == "load" && count == 3) return load(words[2]);
  std::cerr << "usage: harbour_program server | client PORT | load LIBRARY\n";
  return 2;
}
