#include "telemetry/call_observers.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/executor.hpp"
#include "telemetry/metrics/retry_instruments.hpp"

#include <chrono>
#include <utility>

namespace coracle::telemetry_internal {

// --- of a server

server_calls::server_calls(std::shared_ptr<core> of) : of_(std::move(of)) {
  for (std::size_t i = 0; i < of_->owner().size(); ++i)
    loops_.emplace_back(of_->calls_of(of_->owner().at(i)));
}

server_observer& server_calls::on_loop(const loop& where, std::uint32_t methods) {
  of_loop& l = loops_[where.index()];
  l.expect(methods);
  return l;
}

method_calls* server_calls::of_loop::find(const served_call& c) noexcept {
  const bool registered = c.method_index + 1 < methods_.size();
  method_calls* const found =
      series_.find(false, {}, c.context.method(), registered, loop::current()->wall_now());
  if (registered) methods_[c.method_index] = found;
  return found;
}

void server_calls::of_loop::call_started(served_call& c) noexcept {
  method_calls* calls = methods_[c.method_index];
  if (!calls) [[unlikely]]
    calls = find(c);
  c.user = calls;
  if (calls) [[likely]]
    ++calls->started;
}

void server_calls::of_loop::call_ended(served_call& c, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(c.user);
  if (!calls) [[unlikely]]
    return;
  const call_traffic& t = c.traffic();
  series_.count(calls->ended, outcome.code(), now - c.began, t.bytes_sent, t.bytes_received);
}

// --- of a channel

channel_calls::channel_calls(std::shared_ptr<core> of, std::string target)
    : of_(std::move(of)), target_(std::move(target)), caches_(of_->owner().size()) {}

void channel_calls::call_started(observed_call& c) noexcept {
  const loop& here = *loop::current();
  method_cache& cache = caches_[here.index()];
  method_calls* calls = c.registered ? cache.find(c.method) : nullptr;
  if (!calls) [[unlikely]] {
    calls = of_->calls_of(here).find(true, target_, c.method, c.registered, here.wall_now());
    if (calls && c.registered) cache.keep(c.method, calls);
  }
  c.user = calls;
}

void channel_calls::attempt_started(observed_attempt& a) noexcept {
  if (auto* const calls = static_cast<method_calls*>(a.call.user)) ++calls->started;
}

void channel_calls::attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(a.call.user);
  if (!calls) [[unlikely]]
    return;
  of_->calls_of(*loop::current())
      .count(calls->ended, outcome.code(), now - a.began, a.traffic.bytes_sent, a.traffic.bytes_received);
}

void channel_calls::call_ended(observed_call& c, const status& outcome, time_point now) noexcept {
  auto* const calls = static_cast<method_calls*>(c.user);
  if (!calls) [[unlikely]]
    return;
  const loop& here = *loop::current();
  of_->calls_of(here).count(calls->client_calls, outcome.code(), now - c.began, 0, 0);
  if (c.retries || c.transparent_retries || c.hedges || c.retry_delay.count() > 0) [[unlikely]]
    if (metrics_sink* const to = here.metrics()) measure_retries(c, calls->key, *to);
}

}  // namespace coracle::telemetry_internal
