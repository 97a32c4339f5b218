// Cases that repeat the same for a long time, or in large numbers.
#include "expectations.hpp"
#include "interop_cases.hpp"

#include <coracle/coro/executor.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace interop {

namespace {

using namespace std::chrono_literals;

// Shared by the tasks of a soak.
struct soak_score {
  int begun = 0;
  int done = 0;
  int failed = 0;
  std::string last_reason;
};

coracle::task<> one_call(coracle::channel channel, const soak_plan& plan, soak_score& score) {
  const auto began = coracle::coro::this_executor().now();
  const stub test(channel);
  const auto request = simple_request(plan.request_bytes, plan.response_bytes);
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  const auto took = coracle::coro::this_executor().now() - began;
  ++score.done;
  if (reply && took <= plan.latency_max) {
    require_size(reply->payload(), plan.response_bytes);
    co_return;
  }
  ++score.failed;
  score.last_reason = reply ? "it took " + std::to_string(took / 1ms) + " ms" : reply.status().to_string();
}

// One of the threads of the description: a task here.
coracle::task<> soak_task(session& at, bool channel_each, coracle::time_point end, soak_score& score) {
  const soak_plan& plan = at.soak();
  while (score.begun < plan.iterations && coracle::coro::this_executor().now() < end) {
    ++score.begun;
    const auto next = coracle::coro::this_executor().now() + plan.pause_min;
    if (channel_each) {
      const auto own = at.make_channel();
      co_await one_call(own, plan, score);
    } else {
      co_await one_call(at.channel(), plan, score);
    }
    if (plan.pause_min > 0ms)
      co_await coracle::sleep_until(next);  // sleeps on purpose: the soak has a rhythm
  }
}

coracle::task<> soak(session& at, bool channel_each) {
  const soak_plan& plan = at.soak();
  soak_score score;
  const auto end = coracle::coro::this_executor().now() + plan.overall_max;
  coracle::scope threads(co_await coracle::coro::this_environment());
  for (int i = 0; i < plan.threads; ++i) threads.spawn(soak_task(at, channel_each, end, score));
  co_await threads.join();
  require(score.done >= plan.iterations,
          "only " + std::to_string(score.done) + " iterations were done in time");
  require(score.failed <= plan.failures_max,
          std::to_string(score.failed) + " iterations failed, the last because " + score.last_reason);
}

}  // namespace

coracle::task<> rpc_soak(session& at) { return soak(at, false); }
coracle::task<> channel_soak(session& at) { return soak(at, true); }

// Long runs elsewhere: calls on one channel with pauses in between.
coracle::task<> long_lived_channel(session& at) {
  const stub test(at.channel());
  const pb::Empty request;
  for (int i = 0; i < 5; ++i) {
    if (i > 0) co_await coracle::sleep_for(200ms);  // sleeps on purpose: the channel is to be idle
    const auto reply = co_await test.EmptyCall(request, coracle::within(patience));
    require_code(reply.status(), coracle::status_code::ok);
  }
}

coracle::task<> very_large_request(session& at) {
  constexpr std::int32_t request_bytes = 10'485'760, response_bytes = 10;
  const stub test(at.channel());
  const auto request = simple_request(request_bytes, response_bytes);
  const auto reply = co_await test.UnaryCall(request, coracle::within(patience));
  require_size(reply.value().payload(), response_bytes);
}

}  // namespace interop
