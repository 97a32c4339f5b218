// channel_calls: measures and traces the calls of the channels to one target.
#pragma once

#include "coracle/client/client_observer.hpp"
#include "coracle/opentelemetry/bridge_core.hpp"
#include "coracle/opentelemetry/call_span.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <opentelemetry/trace/default_span.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::opentelemetry_internal {

class channel_calls final : public client_observer {
 public:
  channel_calls(std::shared_ptr<const bridge_core> by, std::string_view target)
      : by_(std::move(by)),
        target_(!by_->options.reports_target || by_->options.reports_target(target) ? target : other) {}

  void call_started(observed_call& c) noexcept override {
    if (!by_->tracer) return;
    try {
      c.user = new call_span(*by_->tracer, "Sent.", c.method, ::opentelemetry::trace::SpanKind::kClient,
                             parent_of(c));
    } catch (const std::bad_alloc&) {
    }
  }
  void call_resolved(observed_call& c) noexcept override {
    if (auto* const of_call = static_cast<call_span*>(c.user))
      of_call->span().AddEvent("Delayed name resolution complete");
  }
  void attempt_started(observed_attempt& a) noexcept override {
    if (by_->attempts) by_->attempts->begin(labels_of(a.call));
    const auto* const of_call = static_cast<call_span*>(a.call.user);
    if (!of_call) return;
    try {
      auto made = std::make_unique<call_span>(*by_->tracer, "Attempt.", a.call.method,
                                              ::opentelemetry::trace::SpanKind::kClient, of_call->in());
      made->span().SetAttribute("previous-rpc-attempts", std::int64_t{a.previous_attempts});
      made->span().SetAttribute("transparent-retry", a.kind == attempt_kind::transparent_retry);
      a.replaces_trace = true;
      metadata_carrier to(a.more);
      by_->options.propagator->Inject(to, made->in());
      a.user = made.release();
    } catch (const std::bad_alloc&) {
    }
  }
  void attempt_attached(observed_attempt& a) noexcept override {
    if (auto* const span = static_cast<call_span*>(a.user); span && a.waited_for_connection)
      span->span().AddEvent("Delayed LB pick complete");
  }
  void message_sent(observed_attempt& a, message_size m) noexcept override {
    if (auto* const span = static_cast<call_span*>(a.user)) span->message_sent(m);
  }
  void message_received(observed_attempt& a, message_size m) noexcept override {
    if (auto* const span = static_cast<call_span*>(a.user)) span->message_received(m);
  }
  void attempt_ended(observed_attempt& a, const status& outcome, time_point now) noexcept override {
    const std::unique_ptr<call_span> span(static_cast<call_span*>(std::exchange(a.user, nullptr)));
    if (by_->attempts) {
      call_labels of = labels_of(a.call);
      of.add("grpc.status", name_of(outcome.code()));
      by_->attempts->end(of, now - a.began, a.traffic, span ? span->in() : call_instruments::context());
    }
    if (span) span->end(outcome);
  }
  void call_ended(observed_call& c, const status& outcome, time_point now) noexcept override {
    const std::unique_ptr<call_span> span(static_cast<call_span*>(std::exchange(c.user, nullptr)));
    if (by_->call_duration) {
      call_labels of = labels_of(c);
      of.add("grpc.status", name_of(outcome.code()));
      by_->call_duration->Record(std::chrono::duration<double>(now - c.began).count(), of,
                                 span ? span->in() : call_instruments::context());
    }
    if (span) span->end(outcome);
  }

 private:
  [[nodiscard]] call_labels labels_of(const observed_call& c) const noexcept {
    call_labels made;
    made.add("grpc.method", by_->label_of(name_of_method(c.method), c.registered))
        .add("grpc.target", target_);
    if (by_->options.custom_label) made.add("grpc.client.call.custom", c.label);
    return made;
  }
  // Metadata of the program win: it may be a proxy, or have a tracer of its own.
  [[nodiscard]] ::opentelemetry::context::Context parent_of(const observed_call& c) const {
    namespace trace = ::opentelemetry::trace;
    ::opentelemetry::context::Context from = by_->extract(*c.metadata);
    if (trace::GetSpan(from)->GetContext().IsValid()) return from;
    const auto position = trace_of(*c.caller);
    if (!position) return from;
    const nostd::shared_ptr<trace::Span> caller(new trace::DefaultSpan(to_opentelemetry(*position)));
    return trace::SetSpan(from, caller);
  }

  const std::shared_ptr<const bridge_core> by_;
  const std::string target_;
};

}  // namespace coracle::opentelemetry_internal
