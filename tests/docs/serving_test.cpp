// The code of docs/guides/tuning.md and docs/guides/deployment.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include "coracle/server.hpp"

#include <chrono>
#include <string>
// --8<-- [end:includes]
#include "coracle/client.hpp"
#include "coracle/net/signal_watch.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/call_statistics.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>

namespace serving_page {
namespace {

// --8<-- [start:names]
using namespace std::chrono_literals;

class movies final : public movie::rpc::MovieService::service {};  // its handlers are not shown
// --8<-- [end:names]

// --8<-- [start:serve]
int serve(const std::string& where) {
  movies service;
  coracle::runtime runtime({.loops = 0});  // one loop for each core that the process may use
  coracle::server_options options;
  options.drain_grace = 20s;  // less than the orchestrator waits
  options.max_connection_age = {.max = 5min, .grace = 20s};  // clients come back, and find new pods
  options.memory = coracle::memory_quota(192u << 20);
  options.limits = {.calls = 2'000};
  coracle::server server(runtime, options);
  server.add(service);
  coracle::with_defaults(server);  // health, reflection, channelz
  (void)server.listen(where, coracle::insecure());  // "0.0.0.0:50051", or "systemd:"; run() reports a failure
  return server.run();  // on SIGTERM: NOT_SERVING, GOAWAY, and drain_grace for the running calls
}
// --8<-- [end:serve]

class premieres final : public movie::rpc::MovieService::service {
  // --8<-- [start:drain]
  coracle::replies<movie::WatchTogetherResponse> WatchTogether(
      coracle::server_context& context, coracle::reader<movie::WatchTogetherRequest> requests) override {
    movie::WatchTogetherResponse response;
    for (;;) {
      const auto next = co_await coracle::stop_on(context.drain_token(), requests.next());
      if (!next.ok()) break;  // the server drains; the client is still there
      if (!*next) co_return coracle::ok;  // the client has ended its stream
      co_yield response;
    }
    co_yield response;  // a last word
    co_return coracle::status::unavailable("the server restarts: begin again");
  }
  // --8<-- [end:drain]
};

// --8<-- [start:headless]
coracle::channel_options all_pods() {
  coracle::channel_options options;
  options.balance = coracle::balancing::round_robin();  // a connection to each, calls in turn
  options.health_check = "movie.MovieService";  // none to a pod that drains
  options.keepalive = {.time = 5min};  // as often as servers allow
  options.calls.timeout = 2s;
  options.calls.wait_for_ready = true;
  return options;
}
// --8<-- [end:headless]

// --8<-- [start:counters]
coracle::task<coracle::loop_counters> counted() { co_return coracle::loop::current()->stats(); }

// Since an earlier reading.
double system_calls_a_turn(coracle::runtime& runtime, const coracle::loop_counters& before) {
  const auto since = coracle::sync_wait(runtime, runtime.at(0), counted()) - before;
  return static_cast<double>(since.system_calls) / static_cast<double>(since.turns);
}
// --8<-- [end:counters]

// --8<-- [start:stalls]
coracle::runtime_options watched() {
  return coracle::runtime_options{.loops = 2, .blocking_threads = 32, .report_stalls = 10ms};
}
// --8<-- [end:stalls]

TEST(GuideToDeployment, AProgramThatCannotListenSaysSoAndEnds) { EXPECT_EQ(serve("no address"), 1); }

TEST(GuideToOperations, AStreamEndsByItselfWhenTheDrainBegins) {
  premieres service;
  coracle::runtime runtime;
  coracle::server server(runtime);
  server.add(service);
  coracle::channel channel(runtime, server.in_process());
  struct program {
    static coracle::task<> watch(coracle::server& server, coracle::channel channel) {
      const movie::rpc::MovieService::stub movies(channel);
      auto call = movies.WatchTogether();
      const movie::WatchTogetherRequest request;
      (co_await call.write(request)).throw_if_error();
      const auto first = (co_await call.next()).value();
      EXPECT_TRUE(first);
      coracle::scope draining(co_await coracle::coro::this_environment());
      draining.spawn(server.drain(1h));
      const auto last = (co_await call.next()).value();
      EXPECT_TRUE(last);
      const auto end = co_await call.finish();
      EXPECT_EQ(end, coracle::status::unavailable("the server restarts: begin again"));
      co_await draining.join();
    }
  };
  coracle::sync_wait(runtime, runtime.at(0), program::watch(server, channel));
}

coracle::server_options read_options() {
  coracle::server_options options;
  options.limits = {.calls = 0};
  return options;
}

// As an operator does it: SIGHUP, and in the end SIGTERM.
TEST(GuideToOperations, LimitsAreReadAgain) {
  movies service;
  coracle::runtime runtime;
  coracle::server server(runtime);
  server.add(service);
  // --8<-- [start:reload]
  server.reload_on_hangup([] { return read_options(); });
  // --8<-- [end:reload]
  ASSERT_TRUE(server.listen("127.0.0.1:0", coracle::insecure()).ok());
  coracle::runtime outside;
  const movie::rpc::MovieService::stub stub(
      coracle::channel(outside, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure()));
  struct program {
    static coracle::task<> run(movie::rpc::MovieService::stub movies) {
      // It hears of each signal, so that none has its default effect.
      auto hangups = coracle::net::signal_watch::open({coracle::process_signal::hangup}).value();
      const movie::Movie movie;
      for (coracle::status_code code{}; code != coracle::status_code::unavailable;) {
        ::kill(::getpid(), SIGHUP);
        (void)(co_await hangups.next()).value();
        const auto reply = co_await movies.AddMovie(movie);
        code = reply.status().code();
      }
    }
  };
  std::thread operators([&] {
    coracle::sync_wait(outside, outside.at(0), program::run(stub));
    ::kill(::getpid(), SIGTERM);
  });
  EXPECT_EQ(server.run(), 0);
  operators.join();
}

TEST(GuideToDeployment, AChannelToAllPodsWaitsForItsFirstCall) {
  coracle::runtime runtime;
  // --8<-- [start:dial]
  coracle::channel movies(runtime, "dns:///movies-headless.default.svc.cluster.local:50051",
                          coracle::insecure(), all_pods());
  // --8<-- [end:dial]
  EXPECT_EQ(movies.state(), coracle::connectivity::idle);
}

TEST(GuideToTuning, LoopsAreCounted) {
  coracle::runtime runtime(watched());
  EXPECT_EQ(runtime.size(), 2u);
  const auto before = coracle::sync_wait(runtime, runtime.at(0), counted());
  const auto between = coracle::sync_wait(runtime, runtime.at(0), counted());
  EXPECT_GT(between.turns, before.turns);
  // None as long as the loop has always found work when it looked.
  while (system_calls_a_turn(runtime, before) <= 0) continue;
}

}  // namespace
}  // namespace serving_page
