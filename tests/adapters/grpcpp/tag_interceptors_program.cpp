// A program in the API of grpc++, compiled with both libraries: which hook points the interceptors of calls
// by completion queues and callbacks see, in which order, and what they can change.
//
//   tag_interceptors_program alone      prints each case as "case: what"
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "callbacks_service.hpp"
#include "interceptor_cases.hpp"
#include "notification.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace call_kinds::tag_interceptors {
namespace {

using namespace std::chrono_literals;

record of_client;
record of_server;

// A call, and what a client sees of it.
struct called {
  grpc::ClientContext context;
  grpc::Status status;
  Reply reply;
  Summary summary;
  Note note;
  [[nodiscard]] std::string text() const {
    std::string all = std::to_string(status.error_code()) + " '" + status.error_message() + "' " +
                      reply.name() + " " + std::to_string(reply.number());
    for (const auto& [key, value] : context.GetServerInitialMetadata())
      if (key.starts_with("echo-")) all += " " + call_kinds::text(key) + "=" + call_kinds::text(value);
    for (const auto& [key, value] : context.GetServerTrailingMetadata())
      if (key.starts_with("trail-")) all += " " + call_kinds::text(key) + "=" + call_kinds::text(value);
    return all;
  }
};

// --- clients

struct client_ends : both_ends<> {
  explicit client_ends(client_factories of_clients) : both_ends({}, std::move(of_clients)) {}
  grpc::CompletionQueue client_queue;
};

// A unary call by a queue.
std::string find(CallKinds::Stub& stub, grpc::CompletionQueue& queue, called& call, const Query& q,
                 int tag = 1) {
  stub.AsyncUnary(&call.context, q, &queue)->Finish(&call.reply, &call.status, tagged(tag));
  return taken(queue);
}
std::string find(client_ends& by, called& call, const Query& q) {
  return find(*by.stub, by.client_queue, call, q);
}
std::string found(client_ends& by, const Query& q) {
  called call;
  const std::string event = find(by, call, q);
  return event + " " + call.text();
}
// The same by a callback.
void find_called(CallKinds::Stub& stub, called& call, const Query& q) {
  notification ended;
  stub.async()->Unary(&call.context, &q, &call.reply, [&](grpc::Status s) {
    call.status = std::move(s);
    ended.notify();
  });
  ended.wait();
}
std::string found_by_callback(client_ends& by, const Query& q) {
  called call;
  find_called(*by.stub, call, q);
  return call.text();
}

void order_of_queues() {
  client_ends both(tracing_clients(of_client));
  CallKinds::Stub& stub = *both.stub;
  grpc::CompletionQueue& queue = both.client_queue;
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
    const auto reader = stub.PrepareAsyncUnary(&call.context, query("x"), &queue);
    say("queue prepared unary, before", of_client.take());
    reader->StartCall();
    reader->ReadInitialMetadata(tagged(1));
    const std::string first = taken(queue);
    say("queue unary with its metadata first", first, of_client.take());
    reader->Finish(&call.reply, &call.status, tagged(2));
    const std::string second = taken(queue);
    say("queue unary with its metadata first, end", second, call.text(), of_client.take());
  }
  for (const bool metadata_first : {false, true}) {
    called call;
    const std::string name =
        metadata_first ? "queue server stream with its metadata first" : "queue server stream";
    const auto reader = stub.AsyncServerStream(
        &call.context, query(metadata_first ? "headers first" : "x", 1), &queue, tagged(1));
    const std::string started = taken(queue);
    say(name + ", start", started, of_client.take());
    if (metadata_first) {
      reader->ReadInitialMetadata(tagged(2));
      const std::string event = taken(queue);
      say(name + ", metadata", event, of_client.take());
    }
    for (int i = 0; i < 2; ++i) {
      reader->Read(&call.reply, tagged(3));
      const std::string event = taken(queue);
      say(name + ", read " + std::to_string(i), event, of_client.take());
    }
    reader->Finish(&call.status, tagged(4));
    const std::string ended = taken(queue);
    say(name + ", end", ended, call.text(), of_client.take());
  }
  {
    called call;
    const auto writer = stub.AsyncClientStream(&call.context, &call.summary, &queue, tagged(1));
    std::string events = taken(queue);
    for (int i = 0; i < 2; ++i) {
      writer->Write(Position(), tagged(2));
      events += taken(queue);
    }
    writer->WritesDone(tagged(3));
    events += taken(queue);
    writer->Finish(&call.status, tagged(4));
    events += taken(queue);
    say("queue client stream", events, call.summary.positions(), of_client.take());
  }
  {
    called call;
    const auto writer = stub.PrepareAsyncClientStream(&call.context, &call.summary, &queue);
    writer->StartCall(tagged(1));
    std::string events = taken(queue);
    writer->WriteLast(Position(), grpc::WriteOptions(), tagged(2));
    events += taken(queue);
    writer->Finish(&call.status, tagged(4));
    events += taken(queue);
    say("queue client stream of one message", events, call.summary.positions(), of_client.take());
  }
  {
    called call;
    const auto stream = stub.AsyncBidiStream(&call.context, &queue, tagged(1));
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
    say("queue bidi stream", events, of_client.take());
  }
  {
    called call;
    call.context.set_initial_metadata_corked(true);
    const auto stream = stub.AsyncBidiStream(&call.context, &queue, nullptr);  // has no event
    stream->Write(call.note, tagged(1));
    std::string events = taken(queue);
    stream->WritesDone(tagged(2));
    events += taken(queue);
    stream->Finish(&call.status, tagged(3));
    stream->Read(&call.note, tagged(4));
    events += taken(queue);
    stream->Read(&call.note, tagged(5));
    events += taken(queue);
    stream->Read(&call.note, tagged(6));
    events += taken(queue, 2);
    say("queue bidi stream corked", events, call.status.error_code());
    of_client.take();
  }
}

// A call by a reactor.
template <class Reactor>
struct reacting : Reactor, called {
  void OnDone(const grpc::Status& s) final {
    status = s;
    ended_.notify();
  }
  void wait() { ended_.wait(); }

 private:
  notification ended_;
};

using finding = reacting<grpc::ClientUnaryReactor>;
struct server_stream_reactor final : reacting<grpc::ClientReadReactor<Reply>> {
  void OnReadDone(bool ok) override {
    reads += ok ? "+" : "-";
    if (ok) StartRead(&reply);
  }
  std::string reads;
};
struct client_stream_reactor final : reacting<grpc::ClientWriteReactor<Position>> {
  void OnWriteDone(bool) override {
    if (!closes) StartWritesDone();
  }
  bool closes = false;
  Position position;
};
struct bidi_stream_reactor final : reacting<grpc::ClientBidiReactor<Note, Note>> {
  void OnWriteDone(bool) override { StartWritesDone(); }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&note);
  }
  Note sent;
};

void server_stream(CallKinds::Stub& stub, server_stream_reactor& reactor, const Query& q) {
  stub.async()->ServerStream(&reactor.context, &q, &reactor);
  reactor.StartRead(&reactor.reply);
  reactor.StartCall();
  reactor.wait();
}

void order_of_callbacks() {
  client_ends both(tracing_clients(of_client));
  CallKinds::Stub& stub = *both.stub;
  {
    called call;
    find_called(stub, call, query("x"));
    say("callback function", of_client.take());
  }
  {
    finding reactor;
    const Query q = query("x", 3);
    stub.async()->Unary(&reactor.context, &q, &reactor.reply, &reactor);
    reactor.StartCall();
    reactor.wait();
    say("callback unary", reactor.text(), sorted(of_client.take()));
  }
  {
    server_stream_reactor reactor;
    server_stream(stub, reactor, query("x", 2));
    say("callback server stream", reactor.reads, reactor.text(), sorted(of_client.take()));
  }
  for (const bool last : {false, true}) {
    client_stream_reactor reactor;
    stub.async()->ClientStream(&reactor.context, &reactor.summary, &reactor);
    reactor.closes = last;
    if (last) reactor.StartWriteLast(&reactor.position, grpc::WriteOptions());
    else reactor.StartWrite(&reactor.position);
    reactor.StartCall();
    reactor.wait();
    say(last ? "callback client stream of one message" : "callback client stream",
        reactor.summary.positions(), sorted(of_client.take()));
  }
  {
    bidi_stream_reactor reactor;
    stub.async()->BidiStream(&reactor.context, &reactor);
    reactor.StartRead(&reactor.note);
    reactor.StartWrite(&reactor.sent);
    reactor.StartCall();
    reactor.wait();
    say("callback bidi stream", reactor.text(), sorted(of_client.take()));
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
    client_ends both(acting_clients(change_reply));
    say("queue reply of an interceptor", found(both, query("x", 1)));
    say("queue status of an interceptor", found(both, query("error", 5)));
    say("callback reply of an interceptor", found_by_callback(both, query("x", 1)));
    say("callback status of an interceptor", found_by_callback(both, query("error", 5)));
    server_stream_reactor reactor;
    server_stream(*both.stub, reactor, query("error", 1));
    say("callback server stream of an interceptor", reactor.reads, reactor.text());
  }
  {
    later threads;
    client_ends both(acting_clients(threads.act()));
    say("queue interceptor on another thread", found(both, query("x", 1)));
    say("callback interceptor on another thread", found_by_callback(both, query("x", 1)));
    called call;
    const auto reader =
        both.stub->AsyncServerStream(&call.context, query("x", 1), &both.client_queue, tagged(1));
    std::string events = taken(both.client_queue);
    reader->Read(&call.reply, tagged(2));
    events += taken(both.client_queue);
    reader->Read(&call.reply, tagged(3));
    events += taken(both.client_queue);
    reader->Finish(&call.status, tagged(4));
    events += taken(both.client_queue);
    say("queue server stream with interceptor on another thread", events, call.text());
    both.client_queue.Shutdown();
    say("queue drained after interceptors on another thread", taken(both.client_queue));
  }
}

void hijacks() {
  for (const bool ok : {true, false}) {
    const auto code = ok ? grpc::StatusCode::OK : grpc::StatusCode::NOT_FOUND;
    client_ends both(hijacking_clients(of_client, code));
    const std::string how = ok ? "hijacked" : "hijacked and failed";
    const std::string by_queue = found(both, query("x", 1));
    say("queue " + how + " unary", by_queue, of_client.take());
    const std::string by_callback = found_by_callback(both, query("x", 1));
    say("callback " + how + " unary", by_callback, of_client.take());
    called call;
    const auto reader =
        both.stub->AsyncServerStream(&call.context, query("x", 1), &both.client_queue, tagged(1));
    std::string events = taken(both.client_queue);
    reader->Read(&call.reply, tagged(2));
    events += taken(both.client_queue);
    reader->Finish(&call.status, tagged(3));
    events += taken(both.client_queue);
    say("queue " + how + " server stream", events, call.text(), of_client.take());
  }
}

void other_clients() {
  {
    client_ends both(tracing_clients(of_client));
    called call;
    const auto reader = both.stub->AsyncServerStream(&call.context, query("until cancelled", 1),
                                                     &both.client_queue, tagged(1));
    taken(both.client_queue);
    reader->Read(&call.reply, tagged(2));
    taken(both.client_queue);
    of_client.take();
    call.context.TryCancel();
    say("queue cancelled", of_client.take());
    do reader->Read(&call.reply, tagged(2));
    while (taken(both.client_queue) == "2+");
    of_client.take();
    reader->Finish(&call.status, tagged(3));
    const std::string ended = taken(both.client_queue);
    say("queue cancelled, end", ended, call.status.error_code(), of_client.take());
  }
  {
    // The first interceptor asks the server before the call, behind itself.
    const auto ask = [](InterceptorBatchMethods* m) {
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) {
        const auto behind = CallKinds::NewStub(m->GetInterceptedChannel());
        called inner;
        grpc::CompletionQueue queue;
        const std::string event = find(*behind, queue, inner, query("y", 2), 7);
        of_client.add("asks:" + event + " " + inner.text());
      }
      m->Proceed();
    };
    client_ends both(acting_clients(ask, tracing_clients(of_client, {"b"})));
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
    both.stub->async()->Unary(&reactor.context, &q, &reactor.reply, &reactor);
    reactor.StartCall();
    reactor.wait();
    say("callback unary of no server", reactor.status.error_code(), sorted(of_client.take()));
  }
}

// --- servers

using queue_server = both_ends<CallKinds::AsyncService>;
using callback_server = both_ends<callback_call_kinds>;

// Requests a call, has the client make it, and shows what the client sees. `last_events` takes the event of
// Finish() and the notice of the end.
void serve_find(const std::string& name, queue_server& by, bool headers, const grpc::Status& outcome,
                std::string (*last_events)(grpc::CompletionQueue&, int) = taken) {
  held_unary call(by);
  called client;
  std::thread calling([&] { client.status = by.stub->Unary(&client.context, query("x", 1), &client.reply); });
  std::string events = call.next();
  say(name + ", begin", call.asked.ask(), call.asked.number(), of_server.take());
  call.context.AddTrailingMetadata("trail-own", "1");
  if (headers) {
    call.stream.SendInitialMetadata(tagged(2));
    events += call.next();
  }
  Reply reply;
  reply.set_name("of a queue");
  call.stream.Finish(reply, outcome, tagged(3));
  events += " " + last_events(by.queue(), 2);
  calling.join();
  say(name, events, client.text());
  say(name + ", hooks", sorted(of_server.take()));
}

void order_of_server_queues() {
  queue_server by(tracing_servers(of_server));
  serve_find("server queue unary", by, false, grpc::Status::OK);
  serve_find("server queue unary with its metadata first", by, true, grpc::Status::OK);
  serve_find("server queue unary error", by, false, grpc::Status(grpc::StatusCode::NOT_FOUND, "none"));
  {
    // The interceptors see an end that the program does not ask for.
    held_unary call(by, 1, false);
    called client;
    std::thread calling([&] { client.status = by.stub->Unary(&client.context, query("x"), &client.reply); });
    std::string events = call.next();
    call.stream.Finish(Reply(), grpc::Status::OK, tagged(3));
    events += call.next();
    calling.join();
    void* tag = nullptr;
    bool ok = false;
    bool other_events = false;
    while (!of_server.has("A(got-close)"))
      other_events |= by.queue().AsyncNext(&tag, &ok, std::chrono::system_clock::now() + 1ms) !=
                      grpc::CompletionQueue::TIMEOUT;
    say("server queue unary without notice", events, client.text(), other_events);
    say("server queue unary without notice, hooks", sorted(of_server.take()));
  }
  for (const bool together : {false, true}) {
    const std::string name =
        together ? "server queue server stream with its end in one" : "server queue server stream";
    held_server_stream call(by);
    called client;
    int read = 0;
    std::thread calling([&] {
      const auto reader = by.stub->ServerStream(&client.context, query("x", 1));
      while (reader->Read(&client.reply)) ++read;
      client.status = reader->Finish();
    });
    std::string events = call.next();
    events += call.write(Reply(), 2);
    if (together) {
      call.stream.WriteAndFinish(Reply(), grpc::WriteOptions(), grpc::Status::OK, tagged(3));
    } else {
      events += call.write(Reply(), 2);
      call.stream.Finish(grpc::Status::OK, tagged(3));
    }
    events += " " + call.next(2);
    calling.join();
    say(name, events, read, client.text());
    say(name + ", hooks", sorted(of_server.take()));
  }
  {
    held_client_stream call(by);
    called client;
    std::thread calling([&] {
      const auto writer = by.stub->ClientStream(&client.context, &client.summary);
      writer->Write(Position());
      writer->WritesDone();
      client.status = writer->Finish();
    });
    std::string events = call.next();
    Position position;
    for (int i = 0; i < 2; ++i) {
      events += call.read(position, 2);
    }
    Summary summary;
    summary.set_positions(7);
    call.stream.Finish(summary, grpc::Status::OK, tagged(3));
    events += " " + call.next(2);
    calling.join();
    say("server queue client stream", events, client.summary.positions(), client.text());
    say("server queue client stream, hooks", sorted(of_server.take()));
  }
  {
    held_bidi_stream call(by);
    called client;
    std::thread calling([&] {
      const auto stream = by.stub->BidiStream(&client.context);
      stream->Write(Note());
      stream->Read(&client.note);
      stream->WritesDone();
      while (stream->Read(&client.note)) continue;
      client.status = stream->Finish();
    });
    std::string events = call.next();
    Note note;
    call.stream.SendInitialMetadata(tagged(2));
    events += call.next();
    events += call.read(note, 3);
    events += call.write(note, 4);
    events += call.read(note, 5);
    call.stream.Finish(grpc::Status::OK, tagged(6));
    events += " " + call.next(2);
    calling.join();
    say("server queue bidi stream", events, client.text());
    say("server queue bidi stream, hooks", sorted(of_server.take()));
  }
  {
    held_unary call(by);
    by.server->Shutdown();
    const std::string event = call.next();
    say("server queue request of no call", event, of_server.take());
  }
}

// A call of a server of its own, which Shutdown() has its interceptors see to the end.
void serve_callback(const std::string& name, const std::function<void(CallKinds::Stub&, called&)>& call) {
  callback_server by(tracing_servers(of_server));
  called client;
  call(*by.stub, client);
  by.server->Shutdown();
  say(name, client.status.error_code());
  say(name + ", hooks", sorted(of_server.take()));
}

void order_of_server_callbacks() {
  for (const char* ask : {"x", "error", "own headers", "null", "own later"}) {
    serve_callback("server callback unary " + std::string(ask), [ask](CallKinds::Stub& stub, called& client) {
      client.context.AddMetadata("echo-x", "1");
      client.status = stub.Unary(&client.context, query(ask, 5), &client.reply);
    });
  }
  for (const char* ask : {"x", "headers first", "error", "write and finish", "cancel yourself"}) {
    serve_callback("server callback server stream " + std::string(ask),
                   [ask](CallKinds::Stub& stub, called& client) {
                     const auto reader = stub.ServerStream(&client.context, query(ask, 2));
                     while (reader->Read(&client.reply)) continue;
                     client.status = reader->Finish();
                   });
  }
  serve_callback("server callback client stream", [](CallKinds::Stub& stub, called& client) {
    const auto writer = stub.ClientStream(&client.context, &client.summary);
    writer->Write(Position());
    writer->WritesDone();
    client.status = writer->Finish();
  });
  serve_callback("server callback bidi stream", [](CallKinds::Stub& stub, called& client) {
    const auto stream = stub.BidiStream(&client.context);
    stream->Write(Note());
    stream->Read(&client.note);
    stream->WritesDone();
    while (stream->Read(&client.note)) continue;
    client.status = stream->Finish();
  });
}

void changes_by_servers() {
  const auto changing = [](bool lasting) {
    return acting_servers([lasting](InterceptorBatchMethods* m) {
      static const Reply other = [] {
        Reply reply;
        reply.set_name("other");
        return reply;
      }();
      if (m->QueryInterceptionHookPoint(points::POST_RECV_INITIAL_METADATA))
        of_server.add("sees " + std::to_string(m->GetRecvInitialMetadata()->count("echo-x")));
      if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE))
        static_cast<Query*>(m->GetRecvMessage())->set_number(5);
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
        m->GetSendInitialMetadata()->emplace("echo-s", "server");
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
        if (lasting) of_server.add("sends " + static_cast<const Reply*>(m->GetSendMessage())->name());
        if (lasting) m->ModifySendMessage(&other);
      }
      if (m->QueryInterceptionHookPoint(points::PRE_SEND_STATUS)) {
        m->GetSendTrailingMetadata()->emplace("trail-s", "server");
        if (!m->GetSendStatus().ok())
          m->ModifySendStatus(grpc::Status(grpc::StatusCode::ABORTED, "by the server"));
      }
      m->Proceed();
    });
  };
  {
    queue_server by(changing(false));
    serve_find("server queue changes", by, false, grpc::Status::OK);
    serve_find("server queue changes of an error", by, true,
               grpc::Status(grpc::StatusCode::NOT_FOUND, "none"));
  }
  {
    callback_server by(changing(true));
    for (const char* ask : {"x", "error", "own headers"}) {
      called client;
      client.status = by.stub->Unary(&client.context, query(ask, 1), &client.reply);
      const std::string seen = client.text();
      say("server callback changes of " + std::string(ask), seen, of_server.take());
    }
  }
  {
    later threads;
    {
      queue_server by(acting_servers(threads.act()));
      // The interceptors of the two events end on the other thread, and pass them on from there.
      serve_find("server queue on another thread", by, false, grpc::Status::OK, taken_in_any_order);
    }
    {
      callback_server by(acting_servers(threads.act()));
      for (const char* ask : {"x", "own headers"}) {
        called client;
        client.status = by.stub->Unary(&client.context, query(ask, 1), &client.reply);
        say("server callback " + std::string(ask) + " on another thread", client.text());
      }
      called client;
      int read = 0;
      const auto reader = by.stub->ServerStream(&client.context, query("x", 3));
      while (reader->Read(&client.reply)) ++read;
      client.status = reader->Finish();
      say("server callback server stream on another thread", read, client.text());
      by.server->Shutdown();
    }
  }
}

int run_alone() {
  order_of_queues();
  order_of_callbacks();
  changes_by_clients();
  hijacks();
  other_clients();
  order_of_server_queues();
  order_of_server_callbacks();
  changes_by_servers();
  return 0;
}

const program entry("tag_interceptors", {{"alone", run_alone}});

}  // namespace
}  // namespace call_kinds::tag_interceptors
