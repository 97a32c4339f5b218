// The code of docs/guides/tuning.md and docs/guides/deployment.md.
#include "movie.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/rpc/call_statistics.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;

class movies final : public movie::rpc::MovieService::service {};

// [serve]
int serve(const std::string& where) {
  movies service;
  coracle::runtime runtime(coracle::runtime_options().loops(0));  // one for each core that we may use
  coracle::server server(
      runtime, coracle::server_options()
                   .drain_grace(20s)                  // less than the orchestrator waits
                   .max_connection_age(5min, 20s)     // clients come back, and find new pods
                   .limits(coracle::server_limits().memory(coracle::memory_quota(192u << 20)).calls(2'000)));
  server.add(service);
  coracle::with_defaults(server);            // health, reflection, channelz
  server.listen(where, coracle::insecure());  // "0.0.0.0:50051", or "systemd:"; run() says what is wrong
  return server.run();  // SIGTERM: NOT_SERVING, GOAWAY, and the calls that run get the grace
}
// [/serve]

// [headless]
coracle::channel_options all_pods() {
  return coracle::channel_options()
      .balance(coracle::balancing::round_robin())  // a connection to each, calls in turn
      .health_check("movie.MovieService")  // none to a pod that drains
      .keepalive(5min)  // as often as servers allow
      .calls(coracle::within(2s).wait_for_ready(true));
}
// [/headless]

// [counters]
coracle::task<coracle::loop_counters> counted() { co_return coracle::loop::current()->counted(); }

// Since an earlier reading.
double system_calls_a_turn(coracle::runtime& runtime, const coracle::loop_counters& before) {
  const auto since = coracle::sync_wait(runtime, runtime.at(0), counted()) - before;
  return static_cast<double>(since.system_calls) / static_cast<double>(since.turns);
}
// [/counters]

// [stalls]
coracle::runtime_options watched() {
  return coracle::runtime_options().loops(2).report_stalls(10ms).blocking_threads(32);
}
// [/stalls]

TEST(GuideToDeployment, AProgramThatCannotListenSaysSoAndEnds) { EXPECT_EQ(serve("no address"), 1); }

TEST(GuideToDeployment, AChannelToAllPodsWaitsForItsFirstCall) {
  coracle::runtime runtime;
  // [dial]
  coracle::channel movies(runtime, "dns:///movies-headless.default.svc.cluster.local:50051",
                          coracle::insecure(), all_pods());
  // [/dial]
  EXPECT_EQ(movies.state(), coracle::connectivity::idle);
}

TEST(GuideToTuning, LoopsAreCounted) {
  coracle::runtime runtime(watched());
  EXPECT_EQ(runtime.size(), 2u);
  const auto before = coracle::sync_wait(runtime, runtime.at(0), counted());
  const auto between = coracle::sync_wait(runtime, runtime.at(0), counted());
  EXPECT_GT(between.turns, before.turns);
  EXPECT_GT(system_calls_a_turn(runtime, before), 0);
}

}  // namespace
