// Every allocation that a peer's actions cause may fail, and so may those of a client's calls: only a call or
// a connection ends, never the process.
#include "out_of_memory/everything.hpp"
#include "out_of_memory/failing_host.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace coracle::test {
namespace {

std::string play(bool intercepted) {
  outcomes out;
  two_hosts hosts(two_hosts::failing::server);
  packing_service service;
  {
    server srv(hosts.server);
    srv.add(service);
    if (intercepted) srv.add_interceptor(std::make_shared<passing>());
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) return s.to_string();
    const std::string& at = hosts.server_address;
    hosts.world.run_for(std::chrono::milliseconds(1));  // what belongs to the start
    {
      channel c(hosts.client, at, insecure());
      if (!with_failing_allocations([&] { sync_wait(hosts.client, everything::all(echo_stub(c), at, out)); }))
        return reached_the_client;
    }
    channel again(hosts.client, at, insecure());
    sync_wait(hosts.client, everything::one_call(echo_stub(again), out));
    // A failure is reported to the user of the server, who requested the drain.
    with_failing_allocations([&] { sync_wait(hosts.server, srv.drain(std::chrono::seconds(1))); });
  }
  return out.wrong();
}

// A connected client; if its connection ends because of a failure, the next call makes another.
std::string play_client() {
  outcomes out;
  two_hosts hosts(two_hosts::failing::client);
  packing_service service;
  {
    server srv(hosts.server);
    srv.add(service);
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) return s.to_string();
    channel c(hosts.client, hosts.server_address, insecure());
    sync_wait(hosts.client, everything::one_call(echo_stub(c), out));
    // An allocation of the test, or of making a call, fails with an exception for the caller.
    with_failing_allocations([&] { sync_wait(hosts.client, everything::calls(echo_stub(c), out)); });
    sync_wait(hosts.client, everything::one_call(echo_stub(c), out));
  }
  return out.wrong();
}

TEST(EveryAllocationOfAServer, MayFail) {
  expect_each_may_fail([] { return play(false); }, 300);
}

TEST(EveryAllocationOfAServer, MayFailWithInterceptors) {
  expect_each_may_fail([] { return play(true); }, 300);
}

TEST(EveryAllocationOfAServer, MayFailWithThoseThatFollow) {
  expect_each_may_fail([] { return play(true); }, 0, options_for(20, 5));
}

TEST(EveryAllocationOfAClient, MayFail) { expect_each_may_fail(play_client, 200); }

}  // namespace
}  // namespace coracle::test
