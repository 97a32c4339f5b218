#include "telemetry/call_observers.hpp"

#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "coracle/coro/executor.hpp"
#include "telemetry/metrics/retry_instruments.hpp"
#include "telemetry/traces/traced_calls.hpp"

#include <chrono>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

using served_data = call_data<traced_served_call>;
using observed_data = call_data<traced_call>;

call_sizes sizes_of(duration took, const call_traffic& t) noexcept {
  return {static_cast<std::uint64_t>(took.count()), t.bytes_sent, t.bytes_received};
}

// The value is set for each histogram.
metric_exemplar exemplar_of(const trace_context& span) noexcept {
  return {0, loop::current()->wall_now(), span.trace(), span.span()};
}

}  // namespace

// --- of a server

server_calls::server_calls(std::shared_ptr<core> of, const server* which)
    : of_(std::move(of)), which_(which) {
  for (std::size_t i = 0; i < of_->owner().size(); ++i) {
    const loop& l = of_->owner().at(i);
    loops_.emplace_back(of_->calls_of(l), of_->traces_of(l));
  }
}

server_calls::~server_calls() { of_->forget(which_); }

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
  method_calls* const calls = methods_[c.method_index];
  if (!calls) [[unlikely]]
    return start_unknown(c);
  ++calls->started;
  c.user = calls;
  tracer* const by = *traces_;
  if (by && !by->drops_for_good(c.context)) [[unlikely]]  // nearly all are dropped, if few are sampled
    trace(c);
}

void server_calls::of_loop::start_unknown(served_call& c) noexcept {
  method_calls* const calls = find(c);
  c.user = served_data::checked_at_end(calls).user();
  if (!calls) return;
  ++calls->started;
  if (*traces_) trace(c);
}

void server_calls::of_loop::trace(served_call& c) noexcept {
  tracer& by = **traces_;
  method_calls& calls = *served_data(c.user).plain();
  if (by.rules().keeps_late) {
    c.user = served_data::checked_at_end(&calls).user();
    if (by.drops(c.context)) return;
  }
  base::if_memory_allows([&] {
    if (auto made = begin_trace(c, calls, by)) c.user = served_data(std::move(made)).user();
  });
}

void server_calls::of_loop::call_ended(served_call& c, const status& outcome, time_point now) noexcept {
  if (c.context.meter() || !served_data(c.user).is_only_counted()) [[unlikely]]
    return end_checked(c, outcome, now);
  const call_traffic& t = c.traffic();
  series_.count(static_cast<method_calls*>(c.user)->ended, outcome.code(), now - c.began, t.bytes_sent,
                t.bytes_received);
}

void server_calls::of_loop::end_checked(served_call& c, const status& outcome, time_point now) noexcept {
  if (method_calls* const calls = served_data(c.user).calls())
    if (const auto cost = c.context.cost()) calls->costs.add(*cost);
  const served_data data(c.user);
  const call_traffic& t = c.traffic();
  tracer* const by = *traces_;  // null if the loop shuts down
  if (data.is_traced()) {
    const std::unique_ptr<traced_served_call> traced = data.take();
    end_traced(*traced, outcome, sizes_of(now - c.began, t));
    if (by) traced->span.end(outcome, is_server_error(outcome.code(), by->rules().conventions), *by);
    return;
  }
  if (!data.plain()) return;
  series_.count(data.plain()->ended, outcome.code(), now - c.began, t.bytes_sent, t.bytes_received);
  if (by && by->rules().keeps_late) record_late(c, *data.plain(), outcome, now, *by);
}

void server_calls::of_loop::end_traced(traced_served_call& t, const status& outcome,
                                       const call_sizes& sizes) noexcept {
  series_.count(t.calls.ended, outcome.code(), sizes, exemplar_of(t.span.context()));
}

CORACLE_COLD void server_calls::of_loop::message_sent(served_call& c, message_size m) noexcept {
  const served_data data(c.user);
  if (tracer* const by = *traces_; by && data.is_traced()) data.traced().span.message_sent(m, *by);
}

CORACLE_COLD void server_calls::of_loop::message_received(served_call& c, message_size m) noexcept {
  const served_data data(c.user);
  if (tracer* const by = *traces_; by && data.is_traced()) data.traced().span.message_received(m, *by);
}

// --- of a channel

channel_calls::channel_calls(std::shared_ptr<core> of, std::string target)
    : of_(std::move(of)), target_(std::move(target)), server_(target_), caches_(of_->owner().size()) {}

void channel_calls::call_started(observed_call& c) noexcept {
  const loop& here = *loop::current();
  method_cache& cache = caches_[here.index()];
  const std::string_view label = of_->reports_custom_label() ? c.label : std::string_view();
  const bool cached = c.registered && label.empty();
  method_calls* calls = cached ? cache.find(c.method) : nullptr;
  if (!calls) [[unlikely]] {
    calls = of_->calls_of(here).find(true, target_, c.method, c.registered, here.wall_now(), label);
    if (calls && cached) cache.keep(c.method, calls);
  }
  c.user = calls;
  tracer* const by = *of_->traces_of(here);
  if (!calls || !by) return;
  base::if_memory_allows([&] {
    if (auto made = begin_trace(c, *calls, server_, *by)) c.user = observed_data(std::move(made)).user();
  });
}

void channel_calls::call_resolved(observed_call& c) noexcept {
  const observed_data data(c.user);
  if (!data.is_traced() || !data.traced().span) return;
  if (tracer* const by = of_->traces_here())
    data.traced().span->add_event("Delayed name resolution complete", *by);
}

void channel_calls::attempt_started(observed_attempt& a) noexcept {
  const observed_data data(a.call.user);
  if (method_calls* const calls = data.calls()) ++calls->started;
  tracer* const by = data.is_traced() ? of_->traces_here() : nullptr;
  if (by) base::if_memory_allows([&] { a.user = begin_attempt(a, data.traced(), *by).release(); });
}

void channel_calls::attempt_attached(observed_attempt& a) noexcept {
  auto* const span = static_cast<call_span*>(a.user);
  tracer* const by = span ? of_->traces_here() : nullptr;
  if (!by) return;
  if (a.waited_for_connection) span->add_event("Delayed LB pick complete", *by);
  span->set_peer(*a.peer);
  if (auto& of_call = observed_data(a.call.user).traced().span) of_call->set_peer(*a.peer);
}

void channel_calls::message_sent(observed_attempt& a, message_size m) noexcept {
  auto* const span = static_cast<call_span*>(a.user);
  if (tracer* const by = span ? of_->traces_here() : nullptr) span->message_sent(m, *by);
}

void channel_calls::message_received(observed_attempt& a, message_size m) noexcept {
  auto* const span = static_cast<call_span*>(a.user);
  if (tracer* const by = span ? of_->traces_here() : nullptr) span->message_received(m, *by);
}

method_calls* channel_calls::on_server(const server_labels& labels, method_calls* calls) const noexcept {
  method_calls* found = calls;
  base::if_memory_allows([&] {
    server_labels reported;
    if (of_->reports_locality()) reported.locality = labels.locality;
    if (of_->reports_service()) reported.backend_service = labels.backend_service;
    if (reported == server_labels()) return;
    const loop& here = *loop::current();
    // The name is one that is reported already.
    if (method_calls* const there = of_->calls_of(here).find(true, target_, calls->key.method, true,
                                                             here.wall_now(), calls->key.custom, &reported))
      found = there;
  });
  return found;
}

void channel_calls::attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept {
  const std::unique_ptr<call_span> span(static_cast<call_span*>(std::exchange(a.user, nullptr)));
  method_calls* calls = observed_data(a.call.user).calls();
  if (!calls) [[unlikely]]
    return;
  if (a.labels) [[unlikely]]
    calls = on_server(*a.labels, calls);
  const loop& here = *loop::current();
  call_series& series = of_->calls_of(here);
  if (!span)
    return series.count(calls->ended, outcome.code(), now - a.began, a.traffic.bytes_sent,
                        a.traffic.bytes_received);
  series.count(calls->ended, outcome.code(), sizes_of(now - a.began, a.traffic),
               exemplar_of(span->context()));
  if (tracer* const by = *of_->traces_of(here)) span->end(outcome, !outcome.ok(), *by);
}

void channel_calls::call_ended(observed_call& c, const status& outcome, time_point now) noexcept {
  const observed_data data(c.user);
  const std::unique_ptr<traced_call> traced = data.is_traced() ? data.take() : nullptr;
  method_calls* const calls = traced ? &traced->calls : data.plain();
  if (!calls) [[unlikely]]
    return;
  const loop& here = *loop::current();
  call_series& series = of_->calls_of(here);
  tracer* const by = *of_->traces_of(here);
  if (traced && traced->span && by) {
    series.count(calls->client_calls, outcome.code(), sizes_of(now - c.began, {}),
                 exemplar_of(traced->context));
    traced->span->end(outcome, !outcome.ok(), *by);
  } else {
    series.count(calls->client_calls, outcome.code(), now - c.began, 0, 0);
  }
  if (c.retries || c.transparent_retries || c.hedges || c.retry_delay.count() > 0) [[unlikely]]
    if (metrics_sink* const to = here.metrics()) measure_retries(c, calls->key, *to);
}

}  // namespace coracle::telemetry_internal
