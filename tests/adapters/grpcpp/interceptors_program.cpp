// A program in the API of grpc++, compiled with both libraries: which hook points its interceptors see, in
// which order, and what they can change.
//
//   interceptors_program alone      prints each case as "case: what"
#include "harbour.grpc.pb.h"
#include "harbour_service.hpp"
#include "program_cases.hpp"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;
using harbour::Harbour;
using harbour::Note;
using harbour::Position;
using harbour::query;
using harbour::Query;
using harbour::say;
using harbour::Ship;
using harbour::Summary;

using points = InterceptionHookPoints;

// What was seen, by the threads of a client or of a server.
class record {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    all_ += " " + what;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, "");
  }
  bool has(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return all_.find(what) != std::string::npos;
  }

 private:
  std::mutex mutex_;
  std::string all_;
};

record of_client;
record of_server;

std::string names(InterceptorBatchMethods& methods) {
  const std::pair<points, const char*> all[] = {{points::PRE_SEND_INITIAL_METADATA, "send-initial"},
                                                {points::PRE_SEND_MESSAGE, "send-message"},
                                                {points::POST_SEND_MESSAGE, "sent-message"},
                                                {points::PRE_SEND_STATUS, "send-status"},
                                                {points::PRE_SEND_CLOSE, "send-close"},
                                                {points::PRE_RECV_INITIAL_METADATA, "receive-initial"},
                                                {points::PRE_RECV_MESSAGE, "receive-message"},
                                                {points::PRE_RECV_STATUS, "receive-status"},
                                                {points::POST_RECV_INITIAL_METADATA, "got-initial"},
                                                {points::POST_RECV_MESSAGE, "got-message"},
                                                {points::POST_RECV_STATUS, "got-status"},
                                                {points::POST_RECV_CLOSE, "got-close"},
                                                {points::PRE_SEND_CANCEL, "cancel"}};
  std::string seen;
  for (const auto& [point, name] : all)
    if (methods.QueryInterceptionHookPoint(point)) seen += (seen.empty() ? "" : "+") + std::string(name);
  return seen;
}

class tracing final : public Interceptor {
 public:
  tracing(record& to, std::string name) : to_(to), name_(std::move(name)) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    to_.add(name_ + "(" + names(*methods) + ")");
    methods->Proceed();
  }

 private:
  record& to_;
  const std::string name_;
};

using hook = std::function<void(InterceptorBatchMethods*)>;

class acting final : public Interceptor {
 public:
  explicit acting(hook act) : act_(std::move(act)) {}
  void Intercept(InterceptorBatchMethods* methods) override { act_(methods); }

 private:
  const hook act_;
};

struct client_factory final : grpc::experimental::ClientInterceptorFactoryInterface {
  using make = std::function<Interceptor*(ClientRpcInfo*)>;
  explicit client_factory(make m) : of(std::move(m)) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo* info) override { return of(info); }
  const make of;
};
struct server_factory final : grpc::experimental::ServerInterceptorFactoryInterface {
  using make = std::function<Interceptor*(ServerRpcInfo*)>;
  explicit server_factory(make m) : of(std::move(m)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override { return of(info); }
  const make of;
};

using client_factories = std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>;
using server_factories = std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;

client_factories tracing_clients() {
  client_factories all;
  for (const char* name : {"a", "b"})
    all.push_back(
        std::make_unique<client_factory>([name](ClientRpcInfo*) { return new tracing(of_client, name); }));
  return all;
}
server_factories tracing_servers() {
  server_factories all;
  for (const char* name : {"A", "B"})
    all.push_back(
        std::make_unique<server_factory>([name](ServerRpcInfo*) { return new tracing(of_server, name); }));
  return all;
}
client_factories clients(client_factory::make make) {
  client_factories all;
  all.push_back(std::make_unique<client_factory>(std::move(make)));
  return all;
}
server_factories servers(server_factory::make make) {
  server_factories all;
  all.push_back(std::make_unique<server_factory>(std::move(make)));
  return all;
}

struct ends {
  explicit ends(server_factories of_servers, client_factories of_clients) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    builder.experimental().SetInterceptorCreators(std::move(of_servers));
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
};

// What both sides have seen; the server's close comes after the client's status.
void say_seen(const std::string& name) {
  // It sleeps on purpose: nothing tells the program when the server's interceptors have seen the end.
  while (!of_server.has("A(got-close)")) std::this_thread::sleep_for(1ms);
  say(name + ", client", of_client.take());
  say(name + ", server", of_server.take());
}

void order() {
  ends both(tracing_servers(), tracing_clients());
  {
    grpc::ClientContext context;
    Ship ship;
    both.stub->Find(&context, query("x"), &ship);
    say_seen("unary");
  }
  {
    grpc::ClientContext context;
    Ship ship;
    both.stub->Find(&context, query("error", 5), &ship);
    say_seen("unary error");
  }
  {
    grpc::ClientContext context;
    const auto reader = both.stub->List(&context, query("x", 1));
    Ship ship;
    while (reader->Read(&ship)) continue;
    reader->Finish();
    say_seen("list");
  }
  {
    grpc::ClientContext context;
    const auto reader = both.stub->List(&context, query("headers first", 1));
    reader->WaitForInitialMetadata();
    Ship ship;
    while (reader->Read(&ship)) continue;
    reader->Finish();
    say_seen("list with headers first");
  }
  {
    grpc::ClientContext context;
    Summary summary;
    const auto writer = both.stub->Record(&context, &summary);
    writer->Write(Position());
    writer->Write(Position());
    writer->WritesDone();
    writer->Finish();
    say_seen("record");
  }
  {
    grpc::ClientContext context;
    Summary summary;
    const auto writer = both.stub->Record(&context, &summary);
    writer->WriteLast(Position(), grpc::WriteOptions());
    writer->Finish();
    say_seen("record of one message");
  }
  {
    grpc::ClientContext context;
    const auto stream = both.stub->Talk(&context);
    Note note;
    stream->Write(note);
    stream->Read(&note);
    stream->WritesDone();
    while (stream->Read(&note)) continue;
    stream->Finish();
    say_seen("talk");
  }
}

// --- what they can change

std::string called(Harbour::Stub& stub, const Query& q) {
  grpc::ClientContext context;
  Ship ship;
  const auto s = stub.Find(&context, q, &ship);
  std::string all = std::to_string(s.error_code()) + " '" + s.error_message() + "' " + ship.name() + " " +
                    std::to_string(ship.number());
  for (const auto& [key, value] : context.GetServerInitialMetadata())
    if (key == "echo-x" || key == "echo-s") all += " " + harbour::text(key) + "=" + harbour::text(value);
  for (const auto& [key, value] : context.GetServerTrailingMetadata())
    if (key == "trail-s") all += " " + harbour::text(key) + "=" + harbour::text(value);
  return all;
}

client_factories acting_clients(hook act) {
  return clients([act](ClientRpcInfo*) { return new acting(act); });
}
server_factories acting_servers(hook act) {
  return servers([act](ServerRpcInfo*) { return new acting(act); });
}

void changes() {
  {
    const ends both({}, acting_clients([](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
                        m->GetSendInitialMetadata()->emplace("echo-x", "added");
                      m->Proceed();
                    }));
    say("metadata of a client's interceptor", called(*both.stub, query("x", 1)));
  }
  {
    Query other = query("other", 9);
    const ends both({}, acting_clients([&](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
                        const auto* sent = static_cast<const Query*>(m->GetSendMessage());
                        if (sent->number() == 1) m->ModifySendMessage(&other);
                      }
                      m->Proceed();
                    }));
    say("request of an interceptor", called(*both.stub, query("x", 1)));
    say("request that it keeps", called(*both.stub, query("x", 2)));
  }
  {
    std::size_t bytes = 0;
    bool gone = false;
    const ends both({}, acting_clients([&](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_MESSAGE)) {
                        bytes = m->GetSerializedSendMessage()->Length();
                        gone = m->GetSendMessage() == nullptr;
                      }
                      m->Proceed();
                    }));
    const std::string seen = called(*both.stub, query("x", 1));
    say("serialized request", seen, bytes, gone);
  }
  {
    const ends both(
        {}, acting_clients([](InterceptorBatchMethods* m) {
          if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE) && m->GetRecvMessage())
            static_cast<Ship*>(m->GetRecvMessage())->set_name("changed");
          if (m->QueryInterceptionHookPoint(points::POST_RECV_STATUS) && !m->GetRecvStatus()->ok())
            *m->GetRecvStatus() = grpc::Status(grpc::StatusCode::ABORTED, "changed");
          m->Proceed();
        }));
    say("reply of an interceptor", called(*both.stub, query("x", 1)));
    say("status of an interceptor", called(*both.stub, query("error", 5)));
  }
  {
    const ends both(acting_servers([](InterceptorBatchMethods* m) {
                      if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE))
                        static_cast<Query*>(m->GetRecvMessage())->set_number(77);
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA))
                        m->GetSendInitialMetadata()->emplace("echo-s", "server");
                      if (m->QueryInterceptionHookPoint(points::PRE_SEND_STATUS)) {
                        m->GetSendTrailingMetadata()->emplace("trail-s", "server");
                        if (!m->GetSendStatus().ok())
                          m->ModifySendStatus(grpc::Status(grpc::StatusCode::ABORTED, "by the server"));
                      }
                      m->Proceed();
                    }),
                    {});
    say("changes of a server's interceptor", called(*both.stub, query("x", 1)));
    say("status of a server's interceptor", called(*both.stub, query("error", 5)));
  }
  {
    std::vector<std::thread> later;
    const ends both(acting_servers([](InterceptorBatchMethods* m) { m->Proceed(); }),
                    acting_clients([&](InterceptorBatchMethods* m) {
                      later.emplace_back([m] {
                        // It sleeps on purpose: Intercept() returns before.
                        std::this_thread::sleep_for(5ms);
                        m->Proceed();
                      });
                    }));
    say("interceptor on another thread", called(*both.stub, query("x", 1)));
    for (std::thread& t : later) t.join();
  }
  {
    const ends both({}, clients([](ClientRpcInfo*) { return nullptr; }));
    say("factory without an interceptor", called(*both.stub, query("x", 1)));
  }
}

// An interceptor that answers the calls itself.
Interceptor* answering(record& to, const std::string& name, grpc::StatusCode code) {
  return new acting([&to, name, code](InterceptorBatchMethods* m) {
    to.add(name + "(" + names(*m) + ")");
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
    all.push_back(
        std::make_unique<client_factory>([code](ClientRpcInfo*) { return answering(of_client, "h", code); }));
    all.push_back(
        std::make_unique<client_factory>([](ClientRpcInfo*) { return new tracing(of_client, "z"); }));
    const ends both({}, std::move(all));
    const std::string how = ok ? "hijacked" : "hijacked and failed";
    const std::string seen = called(*both.stub, query("x", 1));
    say(how + " unary", seen, of_client.take());
    grpc::ClientContext context;
    const auto reader = both.stub->List(&context, query("x", 1));
    Ship ship;
    const bool first = ok && reader->Read(&ship);
    const auto s = reader->Finish();
    say(how + " list", first, ship.name(), s.error_code(), of_client.take());
  }
}

void others() {
  {
    const ends both({}, tracing_clients());
    grpc::ClientContext context;
    const auto reader = both.stub->List(&context, query("until cancelled", 1));
    Ship ship;
    reader->Read(&ship);
    of_client.take();
    context.TryCancel();
    say("cancelled", of_client.take());
    while (reader->Read(&ship)) continue;
    reader->Finish();
    of_client.take();
  }
  {
    grpc::ClientContext context;
    std::string of_info;
    const ends both(servers([&](ServerRpcInfo* info) {
                      of_server.add(std::string(info->method()) +
                                    (info->type() == ServerRpcInfo::Type::UNARY ? " unary" : " stream") +
                                    (info->server_context() ? " context" : ""));
                      return nullptr;
                    }),
                    clients([&](ClientRpcInfo* info) {
                      of_info += std::string(info->method()) +
                                 (info->type() == ClientRpcInfo::Type::UNARY ? " unary" : " stream") +
                                 (info->client_context() == &context ? " context" : "") +
                                 (info->channel() ? " channel" : "");
                      return nullptr;
                    }));
    Ship ship;
    of_server.take();
    both.stub->Find(&context, query("x", 1), &ship);
    say("info of a client's call", of_info);
    say("info of a server's call", of_server.take());
  }
  {
    // The first interceptor asks the server before the call, behind itself.
    const ends both({}, [] {
      client_factories all;
      all.push_back(std::make_unique<client_factory>([](ClientRpcInfo*) {
        return new acting([](InterceptorBatchMethods* m) {
          if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) {
            const std::shared_ptr<grpc::ChannelInterface> behind = m->GetInterceptedChannel();
            of_client.add("asks:" + called(*Harbour::NewStub(behind), query("y", 2)));
          }
          m->Proceed();
        });
      }));
      all.push_back(
          std::make_unique<client_factory>([](ClientRpcInfo*) { return new tracing(of_client, "b"); }));
      return all;
    }());
    of_client.take();
    const std::string seen = called(*both.stub, query("x", 1));
    say("call of an interceptor", seen, of_client.take());
  }
  {
    static client_factory all([](ClientRpcInfo*) { return new tracing(of_client, "global"); });
    grpc::experimental::RegisterGlobalClientInterceptorFactory(&all);
    const ends both({}, tracing_clients());
    called(*both.stub, query("x", 1));
    say("global interceptor", of_client.take());
    grpc::experimental::TestOnlyResetGlobalClientInterceptorFactory();
  }
}

int run_alone() {
  order();
  changes();
  hijacks();
  others();
  return 0;
}

}  // namespace

int main(int count, char** words) { return harbour::run_program(count, words, {{"alone", run_alone}}); }
