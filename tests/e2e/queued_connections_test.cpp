// Connections that have arrived in the kernel's queue when a server ends: they are served, not reset.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include "coracle/coro/latch.hpp"
#include "coracle/coro/sleep.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace coracle::testing_support::queued_connections_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t connections = 20;

// The connections that wait to be accepted at a port: the kernel shows them as the receive queue of the
// listening socket.
std::size_t queued_at(std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  char local[32];
  std::snprintf(local, sizeof local, "0100007F:%04X", unsigned{port});
  for (std::string line; std::getline(table, line);) {
    std::istringstream columns(line);
    std::string number, at, peer, state, queues;
    columns >> number >> at >> peer >> state >> queues;
    if (at == local && state == "0A") return std::stoul(queues.substr(queues.find(':') + 1), nullptr, 16);
  }
  return 0;
}

class queued_connections : public every_backend {
 protected:
  queued_connections() : every_backend(3) {}
};
INSTANTIATE_TEST_SUITE_P(On, queued_connections, kernel_kinds, queued_connections::case_name);

struct callers {
  static task<> call(std::string address, std::vector<status>& outcomes, latch& ended) {
    const channel to(loop::current()->owner(), address, insecure());
    echo::Text request;
    request.set_text("hello");
    const auto reply = co_await echo_stub(to).Say(request, within(60s));
    outcomes.push_back(reply.status());
    ended.count_down();
  }
  static task<> all_ended(latch& ended) { co_await ended; }
  static task<> until_queued(std::uint16_t port) {
    while (queued_at(port) < connections)
      co_await sleep_for(1ms);  // sleeps on purpose: no event tells when a connection has arrived
  }
};

TEST_P(queued_connections, AreServedByAServerThatDrains) {
  echo_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  const std::string address = "127.0.0.1:" + std::to_string(s.port());
  runtime clients(1);
  std::vector<status> outcomes;
  latch ended(connections);
  for (std::size_t i = 0; i < connections; ++i) clients.spawn(callers::call(address, outcomes, ended));
  // The loops of the server have not run yet.
  sync_wait(clients, clients.at(0), callers::until_queued(s.port()));
  run(s.drain(60s));
  sync_wait(clients, clients.at(0), callers::all_ended(ended));
  for (const status& outcome : outcomes) EXPECT_EQ(outcome, status());
}

}  // namespace
}  // namespace coracle::testing_support::queued_connections_test
