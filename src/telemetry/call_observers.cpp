#include "telemetry/call_observers.hpp"

#include "telemetry/metrics/retry_instruments.hpp"

#include <chrono>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

std::uint64_t nanoseconds(duration d) noexcept {
  return d.count() > 0 ? static_cast<std::uint64_t>(d.count()) : 0;
}

}  // namespace

// --- of a server

server_calls::server_calls(std::shared_ptr<core> of) : of_(std::move(of)), caches_(of_->owner().size()) {}

void server_calls::call_started(served_call& c) noexcept {
  const loop& here = *loop::current();
  loop_part* const part = of_->part_of(here);
  if (!part) [[unlikely]]
    return;
  method_cache& cache = caches_[here.index()];
  const std::string_view path = c.context.method();
  method_calls* calls = c.registered ? cache.find(path) : nullptr;
  if (!calls) [[unlikely]] {
    calls = part->calls.find(false, {}, path, c.registered, part->wall_now());
    if (calls && c.registered) cache.keep(path, calls);
  }
  c.user = calls;
  if (calls) ++calls->started;
}

void server_calls::call_ended(served_call& c, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(c.user);
  if (!calls) [[unlikely]]
    return;
  loop_part* const part = of_->part_of(*loop::current());
  if (!part) [[unlikely]]
    return;
  const call_traffic t = c.context.traffic();
  part->calls.count(calls->ended, outcome.code(),
                    {nanoseconds(now - c.began), t.bytes_sent, t.bytes_received});
}

// --- of a channel

channel_calls::channel_calls(std::shared_ptr<core> of, std::string target)
    : of_(std::move(of)), target_(std::move(target)), caches_(of_->owner().size()) {}

void channel_calls::call_started(observed_call& c) noexcept {
  const loop& here = *loop::current();
  loop_part* const part = of_->part_of(here);
  if (!part) [[unlikely]]
    return;
  method_cache& cache = caches_[here.index()];
  method_calls* calls = c.registered ? cache.find(c.method) : nullptr;
  if (!calls) [[unlikely]] {
    calls = part->calls.find(true, target_, c.method, c.registered, part->wall_now());
    if (calls && c.registered) cache.keep(c.method, calls);
  }
  c.user = calls;
}

void channel_calls::attempt_started(observed_attempt& a) noexcept {
  if (auto* const calls = static_cast<method_calls*>(a.call.user)) ++calls->started;
}

void channel_calls::attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(a.call.user);
  loop_part* const part = of_->part_of(*loop::current());
  if (!calls || !part) [[unlikely]]
    return;
  part->calls.count(calls->ended, outcome.code(),
                    {nanoseconds(now - a.began), a.traffic.bytes_sent, a.traffic.bytes_received});
}

void channel_calls::call_ended(observed_call& c, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(c.user);
  loop_part* const part = of_->part_of(*loop::current());
  if (!calls || !part) [[unlikely]]
    return;
  part->calls.count(calls->client_calls, outcome.code(), {nanoseconds(now - c.began), 0, 0});
  if (c.retries || c.transparent_retries || c.hedges || c.retry_delay.count() > 0) [[unlikely]]
    measure_retries(c, calls->key, *part);
}

}  // namespace coracle::telemetry_internal
