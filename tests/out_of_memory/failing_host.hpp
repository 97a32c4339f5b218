// failing_host: allocations fail on one host of a simulated world.
#pragma once

#include "out_of_memory/failing_allocations.hpp"

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>

namespace coracle::test {

// The host whose allocations fail.
inline const runtime* failing_host = nullptr;

inline bool on_the_failing_host() {
  const loop* const here = loop::current();
  return here && &here->owner() == failing_host;
}

inline failing_options options_for(std::uint64_t burst, std::uint64_t stride) {
  failing_options o;
  o.counts = on_the_failing_host;
  o.burst = burst;
  o.stride = stride;
  return o;
}

// A world with a server and its clients, on the host of one of which allocations fail.
struct two_hosts {
  enum class failing { server, client };
  explicit two_hosts(failing which) { failing_host = which == failing::server ? &server : &client; }

  sim::world world{1};
  runtime& server = world.host("server");
  runtime& client = world.host("client");
  const std::string server_address = world.address_of("server") + ":50051";
};

// Runs f, whose allocations may fail. Returns false if f has thrown std::bad_alloc.
template <class F>
bool with_failing_allocations(F f) {
  bool ended = true;
  count_allocations(true);
  try {
    f();
  } catch (const std::bad_alloc&) {
    ended = false;
  }
  count_allocations(false);
  return ended;
}

inline constexpr const char* reached_the_client = "the failure of the server reached the client's code";

// Expects that each of the scenario's allocations may fail, of which there are more than `count`.
inline void expect_each_may_fail(const std::function<std::string()>& scenario, std::uint64_t count,
                                 const failing_options& options = options_for(1, 1)) {
  // protobuf builds descriptors when they are first used, and does not survive a failure there.
  ASSERT_EQ(scenario(), "");
  const auto result = fail_each_allocation(scenario, options);
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, count);
}

}  // namespace coracle::test
