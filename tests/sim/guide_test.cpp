// The code of docs/guides/simulation.md.
#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

namespace coracle::testing_support::guide_test {
namespace {

using namespace std::chrono_literals;

// --8<-- [start:program]
// What the server's host does at each start. The object that holds the server lives until the host goes down.
struct echo_program {
  explicit echo_program(runtime& on) : srv(on) {
    srv.add(service);
    EXPECT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
  }
  echo_service service;
  server srv;
};

std::shared_ptr<void> start_echo(runtime& rt) { return std::make_shared<echo_program>(rt); }

task<status> say(echo_stub echo) {
  const echo::Text request;
  const call_options limit = within(10s);
  const auto reply = co_await echo.Say(request, limit);
  co_return reply.status();
}
// --8<-- [end:program]

TEST(GuideToSimulation, AServerCrashesAndComesBack) {
  // --8<-- [start:crash]
  sim::world world(1);
  world.start("server", start_echo);
  runtime& client = world.host("client");
  channel c(client, world.address_of("server") + ":50051", insecure());
  EXPECT_EQ(sync_wait(client, say(echo_stub(c))), status());

  world.crash("server");
  EXPECT_EQ(sync_wait(client, say(echo_stub(c))).code(), status_code::deadline_exceeded);  // no reply

  world.restart("server");
  world.run_for(20min);  // no time at all
  EXPECT_EQ(sync_wait(client, say(echo_stub(c))), status());
  // --8<-- [end:crash]
}

// --8<-- [start:seeds]
// What must hold, whatever the seed draws. Gives the hash of what happened.
std::uint64_t survive(std::uint64_t seed) {
  sim::world world(seed, sim::world_options{.faults = sim::faults::everything()});
  world.start("server", start_echo);
  runtime& client = world.host("client");
  channel c(client, world.address_of("server") + ":50051", insecure());
  for (int i = 0; i < 20; ++i) {
    const status outcome = sync_wait(client, say(echo_stub(c)));
    EXPECT_TRUE(outcome.ok() || outcome.code() == status_code::unavailable ||
                outcome.code() == status_code::deadline_exceeded)
        << "seed " << seed << ": " << outcome;
    world.run_for(1s);
  }
  return world.trace_hash();
}

TEST(GuideToSimulation, CallsSurviveEverything) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(survive(seed), survive(seed)) << "seed " << seed;
}
// --8<-- [end:seeds]

}  // namespace
}  // namespace coracle::testing_support::guide_test
