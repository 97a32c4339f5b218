// A program in the API of grpc++, compiled with both libraries: which hook points the interceptors of calls
// by completion queues and callbacks see, in which order, and what they can change.
//
//   tag_interceptors_program alone      prints each case as "case: what"
#include "harbour.grpc.pb.h"
#include "harbour_service.hpp"
#include "interceptor_cases.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using harbour::acting;
using harbour::acting_clients;
using harbour::client_factories;
using harbour::client_factory;
using harbour::ClientRpcInfo;
using harbour::Harbour;
using harbour::Interceptor;
using harbour::InterceptorBatchMethods;
using harbour::names;
using harbour::Note;
using harbour::points;
using harbour::Position;
using harbour::query;
using harbour::Query;
using harbour::record;
using harbour::say;
using harbour::Ship;
using harbour::Summary;
using harbour::tracing;
using harbour::tracing_clients;

record of_client;
record of_server;

// Operations that are pending together end in any order.
std::string sorted(const std::string& seen) {
  std::istringstream words(seen);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  std::sort(all.begin(), all.end());
  std::string text;
  for (const std::string& word : all) text += " " + word;
  return text;
}

void* tagged(std::intptr_t number) { return reinterpret_cast<void*>(number); }

// The next event, as its tag with its ok.
std::string taken(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return "drained";
  return std::to_string(reinterpret_cast<std::intptr_t>(tag)) + (ok ? "+" : "-");
}

// A call, and what a client sees of it.
struct called {
  grpc::ClientContext context;
  grpc::Status status;
  Ship ship;
  Summary summary;
  Note note;
  [[nodiscard]] std::string text() const {
    std::string all = std::to_string(status.error_code()) + " '" + status.error_message() + "' " +
                      ship.name() + " " + std::to_string(ship.number());
    for (const auto& [key, value] : context.GetServerInitialMetadata())
      if (key.starts_with("echo-")) all += " " + harbour::text(key) + "=" + harbour::text(value);
    for (const auto& [key, value] : context.GetServerTrailingMetadata())
      if (key.starts_with("trail-")) all += " " + harbour::text(key) + "=" + harbour::text(value);
    return all;
  }
};

// --- clients

struct client_ends {
  explicit client_ends(client_factories of_clients) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    channel = grpc::experimental::CreateCustomChannelWithInterceptors(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), grpc::ChannelArguments(),
        std::move(of_clients));
    stub = Harbour::NewStub(channel);
  }
  int port = 0;
  harbour::harbour_service service;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Harbour::Stub> stub;
  grpc::CompletionQueue queue;
};

// A unary call by a queue.
std::string find(client_ends& by, called& call, const Query& q) {
  const auto reader = by.stub->AsyncFind(&call.context, q, &by.queue);
  reader->Finish(&call.ship, &call.status, tagged(1));
  return taken(by.queue);
}
std::string found(client_ends& by, const Query& q) {
  called call;
  const std::string event = find(by, call, q);
  return event + " " + call.text();
}
// The same by a callback.
void find_called(Harbour::Stub& stub, called& call, const Query& q) {
  std::mutex changing;
  std::condition_variable changed;
  bool done = false;
  stub.async()->Find(&call.context, &q, &call.ship, [&](grpc::Status s) {
    const std::lock_guard lock(changing);
    call.status = std::move(s);
    done = true;
    changed.notify_all();
  });
  std::unique_lock lock(changing);
  changed.wait(lock, [&] { return done; });
}
std::string found_by_callback(client_ends& by, const Query& q) {
  called call;
  find_called(*by.stub, call, q);
  return call.text();
}

void order_of_queues() {
  client_ends both(tracing_clients(of_client));
  Harbour::Stub& stub = *both.stub;
  grpc::CompletionQueue& queue = both.queue;
  {
    called call;
    const std::string event = find(both, call, query("x"));
    say("queue unary", event, of_client.take());
  }
  {
    called call;
    const std::string event = find(both, call, query("error", 5));
    say("queue unary error", event, call.status.error_code(), of_client.take());
  }
  {
    called call;
    const auto reader = stub.PrepareAsyncFind(&call.context, query("x"), &queue);
    say("queue prepared unary, before", of_client.take());
    reader->StartCall();
    reader->ReadInitialMetadata(tagged(1));
    const std::string first = taken(queue);
    say("queue unary with its metadata first", first, of_client.take());
    reader->Finish(&call.ship, &call.status, tagged(2));
    const std::string second = taken(queue);
    say("queue unary with its metadata first, end", second, call.text(), of_client.take());
  }
  for (const bool metadata_first : {false, true}) {
    called call;
    const std::string name = metadata_first ? "queue list with its metadata first" : "queue list";
    const auto reader =
        stub.AsyncList(&call.context, query(metadata_first ? "headers first" : "x", 1), &queue, tagged(1));
    const std::string started = taken(queue);
    say(name + ", start", started, of_client.take());
    if (metadata_first) {
      reader->ReadInitialMetadata(tagged(2));
      const std::string event = taken(queue);
      say(name + ", metadata", event, of_client.take());
    }
    for (int i = 0; i < 2; ++i) {
      reader->Read(&call.ship, tagged(3));
      const std::string event = taken(queue);
      say(name + ", read " + std::to_string(i), event, of_client.take());
    }
    reader->Finish(&call.status, tagged(4));
    const std::string ended = taken(queue);
    say(name + ", end", ended, call.text(), of_client.take());
  }
  {
    called call;
    const auto writer = stub.AsyncRecord(&call.context, &call.summary, &queue, tagged(1));
    std::string events = taken(queue);
    for (int i = 0; i < 2; ++i) {
      writer->Write(Position(), tagged(2));
      events += taken(queue);
    }
    writer->WritesDone(tagged(3));
    events += taken(queue);
    writer->Finish(&call.status, tagged(4));
    events += taken(queue);
    say("queue record", events, call.summary.positions(), of_client.take());
  }
  {
    called call;
    const auto writer = stub.PrepareAsyncRecord(&call.context, &call.summary, &queue);
    writer->StartCall(tagged(1));
    std::string events = taken(queue);
    writer->WriteLast(Position(), grpc::WriteOptions(), tagged(2));
    events += taken(queue);
    writer->Finish(&call.status, tagged(4));
    events += taken(queue);
    say("queue record of one message", events, call.summary.positions(), of_client.take());
  }
  {
    called call;
    const auto stream = stub.AsyncTalk(&call.context, &queue, tagged(1));
    std::string events = taken(queue);
    stream->Write(call.note, tagged(2));
    events += taken(queue);
    stream->Read(&call.note, tagged(3));
    events += taken(queue);
    stream->WritesDone(tagged(4));
    events += taken(queue);
    stream->Read(&call.note, tagged(5));
    events += taken(queue);
    stream->Read(&call.note, tagged(6));
    events += taken(queue);
    stream->Finish(&call.status, tagged(7));
    events += taken(queue);
    say("queue talk", events, of_client.take());
  }
}

// A reactor of any kind ends here.
class ending {
 public:
  void end() {
    const std::lock_guard lock(changing_);
    ended_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [this] { return ended_; });
  }

 private:
  std::mutex changing_;
  std::condition_variable changed_;
  bool ended_ = false;
};

struct finding final : grpc::ClientUnaryReactor, ending, called {
  void OnDone(const grpc::Status& s) override {
    status = s;
    end();
  }
};
struct listing final : grpc::ClientReadReactor<Ship>, ending, called {
  void OnReadDone(bool ok) override {
    reads += ok ? "+" : "-";
    if (ok) StartRead(&ship);
  }
  void OnDone(const grpc::Status& s) override {
    status = s;
    end();
  }
  std::string reads;
};
struct recording final : grpc::ClientWriteReactor<Position>, ending, called {
  void OnWriteDone(bool) override {
    if (!closes) StartWritesDone();
  }
  void OnDone(const grpc::Status& s) override {
    status = s;
    end();
  }
  bool closes = false;
  Position position;
};
struct talking final : grpc::ClientBidiReactor<Note, Note>, ending, called {
  void OnWriteDone(bool) override { StartWritesDone(); }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&note);
  }
  void OnDone(const grpc::Status& s) override {
    status = s;
    end();
  }
  Note sent;
};

void list(Harbour::Stub& stub, listing& reactor, const Query& q) {
  stub.async()->List(&reactor.context, &q, &reactor);
  reactor.StartRead(&reactor.ship);
  reactor.StartCall();
  reactor.wait();
}

void order_of_callbacks() {
  client_ends both(tracing_clients(of_client));
  Harbour::Stub& stub = *both.stub;
  {
    called call;
    find_called(stub, call, query("x"));
    say("callback function", of_client.take());
  }
  {
    finding reactor;
    const Query q = query("x", 3);
    stub.async()->Find(&reactor.context, &q, &reactor.ship, &reactor);
    reactor.StartCall();
    reactor.wait();
    say("callback unary", reactor.text(), sorted(of_client.take()));
  }
  {
    listing reactor;
    list(stub, reactor, query("x", 2));
    say("callback list", reactor.reads, reactor.text(), sorted(of_client.take()));
  }
  for (const bool last : {false, true}) {
    recording reactor;
    stub.async()->Record(&reactor.context, &reactor.summary, &reactor);
    reactor.closes = last;
    if (last) reactor.StartWriteLast(&reactor.position, grpc::WriteOptions());
    else reactor.StartWrite(&reactor.position);
    reactor.StartCall();
    reactor.wait();
    say(last ? "callback record of one message" : "callback record", reactor.summary.positions(),
        sorted(of_client.take()));
  }
  {
    talking reactor;
    stub.async()->Talk(&reactor.context, &reactor);
    reactor.StartRead(&reactor.note);
    reactor.StartWrite(&reactor.sent);
    reactor.StartCall();
    reactor.wait();
    say("callback talk", reactor.text(), sorted(of_client.take()));
  }
}

// --- what interceptors of clients can change

void changes_by_clients() {
  {
    client_ends both(acting_clients([](InterceptorBatchMethods* m) {
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
        m->GetSendInitialMetadata()->emplace("echo-x", "added");
      if (m->QueryInterceptionHookPoint(points::POST_RECV_INITIAL_METADATA))
        of_client.add("initial=" + std::to_string(m->GetRecvInitialMetadata()->count("echo-x")));
      if (m->QueryInterceptionHookPoint(points::POST_RECV_STATUS))
        of_client.add("trailing=" + std::to_string(m->GetRecvTrailingMetadata()->count("trail-x")));
      m->Proceed();
    }));
    {
      called call;
      call.context.AddMetadata("trail-x", "sent");
      const std::string event = find(both, call, query("x", 1));
      say("queue metadata of an interceptor", event, call.text(), of_client.take());
    }
    {
      called call;
      call.context.AddMetadata("trail-x", "sent");
      find_called(*both.stub, call, query("x", 1));
      say("callback metadata of an interceptor", call.text(), of_client.take());
    }
  }
  {
    // By a queue, the program may destroy its message at once: there is none to be seen.
    const Query other = query("other", 9);
    client_ends both(acting_clients([&](InterceptorBatchMethods* m) {
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
        const auto* sent = static_cast<const Query*>(m->GetSendMessage());
        of_client.add(sent ? "sees " + sent->ask() : "sees none");
        if (sent) {
          m->ModifySendMessage(&other);
        } else {
          grpc::Slice bytes(other.SerializeAsString());
          *m->GetSerializedSendMessage() = grpc::ByteBuffer(&bytes, 1);
        }
      }
      m->Proceed();
    }));
    const std::string by_queue = found(both, query("x", 1));
    say("queue request of an interceptor", by_queue, of_client.take());
    const std::string by_callback = found_by_callback(both, query("x", 1));
    say("callback request of an interceptor", by_callback, of_client.take());
  }
  {
    client_ends both(acting_clients([&](InterceptorBatchMethods* m) {
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
        const auto bytes = m->GetSerializedSendMessage()->Length();
        of_client.add(std::to_string(bytes) + (m->GetSendMessage() ? " and the message" : ""));
      }
      m->Proceed();
    }));
    const std::string by_queue = found(both, query("x", 1));
    say("queue serialized request", by_queue, of_client.take());
    const std::string by_callback = found_by_callback(both, query("x", 1));
    say("callback serialized request", by_callback, of_client.take());
  }
  {
    client_ends both(acting_clients([](InterceptorBatchMethods* m) {
      if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE) && m->GetRecvMessage())
        static_cast<Ship*>(m->GetRecvMessage())->set_name("changed");
      if (m->QueryInterceptionHookPoint(points::POST_RECV_STATUS) && !m->GetRecvStatus()->ok())
        *m->GetRecvStatus() = grpc::Status(grpc::StatusCode::ABORTED, "changed");
      m->Proceed();
    }));
    say("queue reply of an interceptor", found(both, query("x", 1)));
    say("queue status of an interceptor", found(both, query("error", 5)));
    say("callback reply of an interceptor", found_by_callback(both, query("x", 1)));
    say("callback status of an interceptor", found_by_callback(both, query("error", 5)));
    listing reactor;
    list(*both.stub, reactor, query("error", 1));
    say("callback list of an interceptor", reactor.reads, reactor.text());
  }
  {
    // Each hook point goes on when Intercept() has returned.
    std::mutex changing;
    std::vector<std::thread> later;
    {
      client_ends both(acting_clients([&](InterceptorBatchMethods* m) {
        const std::lock_guard lock(changing);
        later.emplace_back([m] {
          // It sleeps on purpose: Intercept() returns before.
          std::this_thread::sleep_for(5ms);
          m->Proceed();
        });
      }));
      say("queue interceptor on another thread", found(both, query("x", 1)));
      say("callback interceptor on another thread", found_by_callback(both, query("x", 1)));
      called call;
      const auto reader = both.stub->AsyncList(&call.context, query("x", 1), &both.queue, tagged(1));
      std::string events = taken(both.queue);
      reader->Read(&call.ship, tagged(2));
      events += taken(both.queue);
      reader->Read(&call.ship, tagged(3));
      events += taken(both.queue);
      reader->Finish(&call.status, tagged(4));
      events += taken(both.queue);
      say("queue list with interceptor on another thread", events, call.text());
      both.queue.Shutdown();
      say("queue drained after interceptors on another thread", taken(both.queue));
    }
    for (std::thread& t : later) t.join();
  }
}

// An interceptor that answers the calls itself.
Interceptor* answering(grpc::StatusCode code) {
  return new acting([code](InterceptorBatchMethods* m) {
    of_client.add("h(" + names(*m) + ")");
    if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) return m->Hijack();
    if (m->QueryInterceptionHookPoint(points::PRE_RECV_MESSAGE)) {
      if (code == grpc::StatusCode::OK) static_cast<Ship*>(m->GetRecvMessage())->set_name("hijacked");
      else m->FailHijackedRecvMessage();
    }
    if (m->QueryInterceptionHookPoint(points::PRE_RECV_STATUS))
      *m->GetRecvStatus() = grpc::Status(code, code == grpc::StatusCode::OK ? "" : "hijacked");
    m->Proceed();
  });
}

void hijacks() {
  for (const bool ok : {true, false}) {
    const auto code = ok ? grpc::StatusCode::OK : grpc::StatusCode::NOT_FOUND;
    client_factories all;
    all.push_back(
        std::make_unique<client_factory>([](ClientRpcInfo*) { return new tracing(of_client, "a"); }));
    all.push_back(std::make_unique<client_factory>([code](ClientRpcInfo*) { return answering(code); }));
    all.push_back(
        std::make_unique<client_factory>([](ClientRpcInfo*) { return new tracing(of_client, "z"); }));
    client_ends both(std::move(all));
    const std::string how = ok ? "hijacked" : "hijacked and failed";
    const std::string by_queue = found(both, query("x", 1));
    say("queue " + how + " unary", by_queue, of_client.take());
    const std::string by_callback = found_by_callback(both, query("x", 1));
    say("callback " + how + " unary", by_callback, of_client.take());
    called call;
    const auto reader = both.stub->AsyncList(&call.context, query("x", 1), &both.queue, tagged(1));
    std::string events = taken(both.queue);
    reader->Read(&call.ship, tagged(2));
    events += taken(both.queue);
    reader->Finish(&call.status, tagged(3));
    events += taken(both.queue);
    say("queue " + how + " list", events, call.text(), of_client.take());
  }
}

void other_clients() {
  {
    client_ends both(tracing_clients(of_client));
    called call;
    const auto reader =
        both.stub->AsyncList(&call.context, query("until cancelled", 1), &both.queue, tagged(1));
    taken(both.queue);
    reader->Read(&call.ship, tagged(2));
    taken(both.queue);
    of_client.take();
    call.context.TryCancel();
    say("queue cancelled", of_client.take());
    do reader->Read(&call.ship, tagged(2));
    while (taken(both.queue) == "2+");
    of_client.take();
    reader->Finish(&call.status, tagged(3));
    const std::string ended = taken(both.queue);
    say("queue cancelled, end", ended, call.status.error_code(), of_client.take());
  }
  {
    // The first interceptor asks the server before the call, behind itself.
    client_factories all;
    all.push_back(std::make_unique<client_factory>([](ClientRpcInfo*) {
      return new acting([](InterceptorBatchMethods* m) {
        if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) {
          const std::shared_ptr<grpc::ChannelInterface> behind = m->GetInterceptedChannel();
          const auto stub = Harbour::NewStub(behind);
          called inner;
          grpc::CompletionQueue queue;
          const Query q = query("y", 2);
          const auto reader = stub->AsyncFind(&inner.context, q, &queue);
          reader->Finish(&inner.ship, &inner.status, tagged(7));
          const std::string event = taken(queue);
          of_client.add("asks:" + event + " " + inner.text());
        }
        m->Proceed();
      });
    }));
    all.push_back(
        std::make_unique<client_factory>([](ClientRpcInfo*) { return new tracing(of_client, "b"); }));
    client_ends both(std::move(all));
    const std::string seen = found(both, query("x", 1));
    say("queue call of an interceptor", seen, of_client.take());
  }
  {
    client_ends both(tracing_clients(of_client));
    both.server->Shutdown();
    called call;
    const std::string event = find(both, call, query("x", 1));
    say("queue unary of no server", event, call.status.error_code(), of_client.take());
    // Nothing tells which of the ends comes first.
    finding reactor;
    const Query q = query("x", 3);
    both.stub->async()->Find(&reactor.context, &q, &reactor.ship, &reactor);
    reactor.StartCall();
    reactor.wait();
    say("callback unary of no server", reactor.status.error_code(), sorted(of_client.take()));
  }
}

}  // namespace

int main(int count, char** words) {
  std::cout << std::boolalpha;
  if (count != 2 || std::string(words[1]) != "alone") {
    std::cerr << "usage: tag_interceptors_program alone\n";
    return 2;
  }
  order_of_queues();
  order_of_callbacks();
  changes_by_clients();
  hijacks();
  other_clients();
  return 0;
}
