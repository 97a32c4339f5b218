// Every allocation of a connect() to several addresses may fail: it fails, and waits for no attempt that has
// ended without an answer.
#include "out_of_memory/failing_host.hpp"

#include "coracle/coro/task.hpp"
#include "coracle/net/connect.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace coracle::every_connect_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;

struct attempts {
  static task<> run(std::vector<net::address> to) {
    task<result<net::stream>> connecting = net::connect(std::move(to));
    result<net::stream> connected = co_await std::move(connecting);
    if (connected) connected->close();
  }
};

// The answers come when all attempts have begun.
TEST(EveryAllocationOfAConnect, MayFail) {
  const auto play = [] {
    sim::world world(1, sim::world_options{.latency = 600ms});
    world.host("server");
    runtime& client = world.host("client");
    failing_host = &client;
    std::vector<net::address> to;
    for (const char* port : {":1", ":2", ":3"})
      to.push_back(net::address::parse(world.address_of("server") + port).value());
    with_failing_allocations([&] { sync_wait(client, attempts::run(to)); });
    return std::string();
  };
  expect_each_may_fail(play, 10);
}

}  // namespace
}  // namespace coracle::every_connect_allocation_test
