// Every allocation that a peer's actions cause may fail, and so may those of a client's calls: only a call or
// a connection ends, never the process.
#include "out_of_memory/everything.hpp"
#include "out_of_memory/failing_host.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace coracle::test {
namespace {

std::string play(bool intercepted) {
  outcomes out;
  sim::world world(1);
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  failing_host = &server_host;
  packing_service service;
  {
    server srv(server_host);
    srv.add(service);
    if (intercepted) srv.add_interceptor(std::make_shared<passing>());
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) return s.to_string();
    const std::string at = world.address_of("server") + ":50051";
    world.run_for(std::chrono::milliseconds(1));  // what belongs to the start
    {
      channel c(client_host, at, insecure());
      count_allocations(true);
      try {
        sync_wait(client_host, everything::all(echo_stub(c), at, out));
      } catch (const std::bad_alloc&) {
        return "the failure of the server reached the client's code";
      }
      count_allocations(false);
    }
    channel again(client_host, at, insecure());
    sync_wait(client_host, everything::one_call(echo_stub(again), out));
    count_allocations(true);
    try {
      sync_wait(server_host, srv.drain(std::chrono::seconds(1)));
    } catch (const std::bad_alloc&) {
      // Reported to the user of the server, who requested it.
    }
    count_allocations(false);
  }
  return out.wrong();
}

// A connected client; if its connection ends because of a failure, the next call makes another.
std::string play_client() {
  outcomes out;
  sim::world world(1);
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  failing_host = &client_host;
  packing_service service;
  {
    server srv(server_host);
    srv.add(service);
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) return s.to_string();
    const std::string at = world.address_of("server") + ":50051";
    channel c(client_host, at, insecure());
    sync_wait(client_host, everything::one_call(echo_stub(c), out));
    count_allocations(true);
    try {
      sync_wait(client_host, everything::calls(echo_stub(c), out));
    } catch (const std::bad_alloc&) {
      // The allocation was one of the test's, or of making a call, and then the caller is notified.
    }
    count_allocations(false);
    sync_wait(client_host, everything::one_call(echo_stub(c), out));
  }
  return out.wrong();
}

TEST(EveryAllocationOfAServer, MayFail) {
  const auto result = fail_each_allocation([] { return play(false); }, options_for(1, 1));
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, 300u);
}

TEST(EveryAllocationOfAServer, MayFailWithInterceptors) {
  const auto result = fail_each_allocation([] { return play(true); }, options_for(1, 1));
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, 300u);
}

TEST(EveryAllocationOfAServer, MayFailWithThoseThatFollow) {
  const auto result = fail_each_allocation([] { return play(true); }, options_for(20, 5));
  EXPECT_TRUE(result.broken.empty()) << result.report();
}

TEST(EveryAllocationOfAClient, MayFail) {
  const auto result = fail_each_allocation([] { return play_client(); }, options_for(1, 1));
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, 200u);
}

}  // namespace
}  // namespace coracle::test
