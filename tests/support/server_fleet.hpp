// server_fleet: a simulated world with a client and servers that identify themselves.
#pragma once

#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support {

// Replies with the name of its host and the number of its connection's peer; "hang" delays the reply for an
// hour.
class naming_service final : public echo_service {
 public:
  explicit naming_service(std::string name) : name_(std::move(name)) {}
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    peers.insert(context.peer().to_string());
    ++calls;
    if (request.text() == "hang") co_await sleep_for(std::chrono::hours(1));
    if (request.count() > 0) co_await sleep_for(std::chrono::milliseconds(request.count()));
    echo::Text reply;
    reply.set_text(name_);
    co_return reply;
  }
  std::set<std::string> peers;  // one a connection
  int calls = 0;

 private:
  std::string name_;
};

class server_fleet : public ::testing::Test {
 protected:
  static constexpr std::uint16_t port = 50051;

  explicit server_fleet(std::size_t client_loops = 1) : client_(world_.host("client", client_loops)) {}

  struct one {
    std::unique_ptr<naming_service> service;
    std::unique_ptr<server> serving;
  };
  void start(const std::string& name, const server_options& o = {}, coracle::service* beside = nullptr) {
    one& s = servers_[name];
    runtime& host = world_.host(name);
    s.service = std::make_unique<naming_service>(name);
    s.serving = std::make_unique<server>(host, o);
    s.serving->add(*s.service);
    if (beside) s.serving->add(*beside);
    ASSERT_EQ(s.serving->listen("0.0.0.0:50051", insecure()), status());
    s.serving->start();
  }
  void stop(const std::string& name) { servers_[name].serving.reset(); }
  naming_service& service(const std::string& name) { return *servers_[name].service; }
  std::string address(const std::string& name) { return world_.address_of(name) + ":50051"; }
  client::resolution at(std::initializer_list<const char*> names) {
    client::resolution found;
    for (const char* n : names) found.add(*net::address::parse(address(n)));
    return found;
  }

  template <class T>
  T run(task<T> t) {
    return sync_wait(client_, client_.at(0), std::move(t));
  }
  // Returns which server replied, or the name of the status.
  static task<std::string> ask(const channel& c, call_options o = {}, std::string text = {},
                               int pause_ms = 0) {
    echo::Text request;
    request.set_text(std::move(text));
    request.set_count(pause_ms);
    const auto reply = co_await echo_stub(c).Say(request, o);
    co_return reply ? reply->text() : std::string(name_of(reply.status().code()));
  }
  std::string call(const channel& c, const call_options& o = {}) { return run(ask(c, o)); }
  // Makes the given number of calls, one after the other, counted by server.
  std::map<std::string, int> calls(const channel& c, int n) {
    std::map<std::string, int> by;
    for (int i = 0; i < n; ++i) ++by[call(c)];
    return by;
  }
  static task<> pause(duration d) { co_await sleep_for(d); }
  void wait(duration d) { run(pause(d)); }

  sim::world world_{1};
  runtime& client_;
  std::map<std::string, one> servers_;
};

}  // namespace coracle::testing_support
