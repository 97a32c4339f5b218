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

// A server that limits calls, before and after it has got other limits. It never loses them.
std::string play_limited() {
  outcomes out;
  two_hosts hosts(two_hosts::failing::server);
  packing_service service;
  server_options options;
  options.protect();
  options.rate_limits = {rate_limit(1e6)};
  options.limits.calls = 1'000;
  {
    server srv(hosts.server, options);
    srv.add(service);
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) return s.to_string();
    hosts.world.run_for(std::chrono::milliseconds(1));  // what belongs to the start
    options.rate_limits.front().per = rate_limit::caller::client;
    options.admission->min_concurrency = 30;
    channel c(hosts.client, hosts.server_address, insecure());
    const auto calls = [&] { sync_wait(hosts.client, everything::unary(echo_stub(c), out)); };
    if (!with_failing_allocations(calls)) return reached_the_client;
    srv.reload(options);
    if (!with_failing_allocations(calls)) return reached_the_client;
    channel again(hosts.client, hosts.server_address, insecure());
    sync_wait(hosts.client, everything::one_call(echo_stub(again), out));
    const server_snapshot now = sync_wait(hosts.server, srv.snapshot());
    if (now.concurrency_limit < options.admission->min_concurrency - 10)
      return "the server has lost its limits";
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

TEST(EveryAllocationOfAServer, MayFailWithLimits) { expect_each_may_fail(play_limited, 100); }

TEST(EveryAllocationOfAClient, MayFail) { expect_each_may_fail(play_client, 200); }

}  // namespace
}  // namespace coracle::test
