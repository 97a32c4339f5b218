// A server that is restarted repeatedly under clients that retry: no idempotent call is lost.
#include "support/echo_fixture.hpp"

#include "coracle/client/service_config.hpp"

#include <atomic>
#include <vector>

namespace coracle::testing_support::restart_test {
namespace {

using namespace std::chrono_literals;

constexpr int callers = 4;

class restarting : public echo_fixture {
 protected:
  // The results of one caller. The test's thread reads two of them while calls are made.
  struct tally {
    std::atomic<int> made{0};
    std::vector<status> lost;
    std::atomic<bool> over{false};  // asked to end
    bool ended = false;
  };
  static task<> call_until_over(echo_stub server, tally& mine) {
    while (!mine.over) {
      const echo::Text request = text("idempotent", mine.made);
      const auto reply = co_await server.Say(request);
      if (!reply) mine.lost.push_back(reply.status());
      else EXPECT_EQ(reply->count(), mine.made);
      ++mine.made;
    }
    mine.ended = true;
  }
  static task<> pause(duration d) { co_await sleep_for(d); }  // sleeps on purpose: see its uses
  static task<> calls_made(const tally& t, int n) {
    while (t.made < n)
      co_await sleep_for(1ms);  // sleeps on purpose: until calls were made, however long it takes
  }
  static task<> all_ended(const std::vector<tally>& found) {
    for (const tally& t : found)
      while (!t.ended) co_await sleep_for(1ms);  // sleeps on purpose: likewise
  }
  // gently: with a drain, followed by a time without a listener. The clients then pause for a
  // second.
  void restart_server(bool gently) {
    if (gently) {
      server_->stop();
      run(pause(20ms));
    }
    server_.reset();
    if (gently) run(pause(5ms));
    server_.emplace(rt());
    server_->add(service_);
    ASSERT_EQ(server_->listen(address_, insecure()), status());
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, restarting, every_world_over_tcp, echo_fixture::case_name);

TEST_P(restarting, LosesNoIdempotentCall) {
  const int restarts = sim_world() ? 12 : 4;  // a second each on a real clock: the channel's pause
  const auto config = service_config::parse(
      R"({"methodConfig":[{"name":[{}],"waitForReady":true,"retryPolicy":{"maxAttempts":5,
          "initialBackoff":"0.01s","maxBackoff":"0.1s","backoffMultiplier":2,
          "retryableStatusCodes":["UNAVAILABLE"]}}]})");
  ASSERT_EQ(config.status(), status());
  channel_options options;
  options.service_config = *config;
  channel retrying(rt(), address_, insecure(), options);
  std::vector<tally> found(callers);
  for (tally& t : found) rt().spawn_on(rt().at(0), call_until_over(echo_stub(retrying), t));
  for (int i = 0; i < restarts; ++i) {
    run(calls_made(found[0], found[0].made + 3));
    restart_server(i % 2 == 0);
  }
  run(calls_made(found[0], found[0].made + 3));
  for (tally& t : found) t.over = true;
  run(all_ended(found));
  for (const tally& t : found) {
    EXPECT_GE(t.made, restarts);
    EXPECT_TRUE(t.lost.empty()) << t.lost.size() << " lost, the first: " << t.lost.front();
  }
}

}  // namespace
}  // namespace coracle::testing_support::restart_test
