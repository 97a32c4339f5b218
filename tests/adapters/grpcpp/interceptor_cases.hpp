// What the programs of cases about interceptors share. Compiled with both libraries.
#pragma once

#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "queue_cases.hpp"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace call_kinds {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

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

// Operations that are pending together end in any order.
inline std::string sorted(const std::string& seen) {
  std::istringstream words(seen);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  std::sort(all.begin(), all.end());
  std::string text;
  for (const std::string& word : all) text += " " + word;
  return text;
}

inline std::string names(InterceptorBatchMethods& methods) {
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

inline client_factories clients(client_factory::make make) {
  client_factories all;
  all.push_back(std::make_unique<client_factory>(std::move(make)));
  return all;
}
inline server_factories servers(server_factory::make make) {
  server_factories all;
  all.push_back(std::make_unique<server_factory>(std::move(make)));
  return all;
}
inline server_factories acting_servers(hook act) {
  return servers([act](ServerRpcInfo*) { return new acting(act); });
}
// Interceptors that add what they see to a record, by their names.
inline client_factories tracing_clients(record& to, const std::vector<std::string>& of = {"a", "b"}) {
  client_factories all;
  for (const std::string& name : of)
    all.push_back(
        std::make_unique<client_factory>([&to, name](ClientRpcInfo*) { return new tracing(to, name); }));
  return all;
}
inline server_factories tracing_servers(record& to) {
  server_factories all;
  for (const char* name : {"A", "B"})
    all.push_back(
        std::make_unique<server_factory>([&to, name](ServerRpcInfo*) { return new tracing(to, name); }));
  return all;
}

// One that acts, before others.
inline client_factories acting_clients(hook act, client_factories behind = {}) {
  behind.insert(behind.begin(), std::make_unique<client_factory>(
                                    [act = std::move(act)](ClientRpcInfo*) { return new acting(act); }));
  return behind;
}

// An interceptor that answers the calls itself with `code`, between "a" and "z".
inline client_factories hijacking_clients(record& to, grpc::StatusCode code) {
  const auto answer = [&to, code](InterceptorBatchMethods* m) {
    to.add("h(" + names(*m) + ")");
    if (m->QueryInterceptionHookPoint(points::PRE_SEND_INITIAL_METADATA)) return m->Hijack();
    if (m->QueryInterceptionHookPoint(points::PRE_RECV_MESSAGE)) {
      if (code == grpc::StatusCode::OK) static_cast<Reply*>(m->GetRecvMessage())->set_name("hijacked");
      else m->FailHijackedRecvMessage();
    }
    if (m->QueryInterceptionHookPoint(points::PRE_RECV_STATUS))
      *m->GetRecvStatus() = grpc::Status(code, code == grpc::StatusCode::OK ? "" : "hijacked");
    m->Proceed();
  };
  client_factories all = acting_clients(answer, tracing_clients(to, {"z"}));
  all.insert(all.begin(), std::move(tracing_clients(to, {"a"}).front()));
  return all;
}

// Has every hook point go on from another thread, when Intercept() has returned.
class later {
 public:
  ~later() {
    for (std::thread& t : threads_) t.join();
  }
  hook act() {
    return [this](InterceptorBatchMethods* m) {
      const std::lock_guard lock(mutex_);
      threads_.emplace_back([m] {
        // It sleeps on purpose: Intercept() returns before.
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        m->Proceed();
      });
    };
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

// What interceptors change of a reply and of an error.
inline void change_reply(InterceptorBatchMethods* m) {
  if (m->QueryInterceptionHookPoint(points::POST_RECV_MESSAGE) && m->GetRecvMessage())
    static_cast<Reply*>(m->GetRecvMessage())->set_name("changed");
  if (m->QueryInterceptionHookPoint(points::POST_RECV_STATUS) && !m->GetRecvStatus()->ok())
    *m->GetRecvStatus() = grpc::Status(grpc::StatusCode::ABORTED, "changed");
  m->Proceed();
}

// A server and a channel to it, both with interceptors. The server has a queue if its methods are requested.
template <class Service = call_kinds_service>
struct both_ends {
  explicit both_ends(server_factories of_server, client_factories of_client = {}) {
    server = start_server(port, [&](grpc::ServerBuilder& builder) {
      builder.RegisterService(&service);
      builder.experimental().SetInterceptorCreators(std::move(of_server));
      if (service.has_async_methods()) owned_queue = builder.AddCompletionQueue();
    });
    channel = grpc::experimental::CreateCustomChannelWithInterceptors(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), grpc::ChannelArguments(),
        std::move(of_client));
    stub = CallKinds::NewStub(channel);
  }
  both_ends(const both_ends&) = delete;
  both_ends& operator=(const both_ends&) = delete;
  ~both_ends() {
    if (!owned_queue) return;
    server->Shutdown();
    queue().Shutdown();
    while (taken(queue()) != "drained") continue;
  }
  grpc::ServerCompletionQueue& queue() { return *owned_queue; }
  int port = 0;
  Service service;
  std::unique_ptr<grpc::ServerCompletionQueue> owned_queue;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
};

}  // namespace call_kinds
