// served_calls: measures and traces the calls of one server.
#pragma once

#include "coracle/opentelemetry/bridge_core.hpp"
#include "coracle/opentelemetry/call_span.hpp"
#include "coracle/server/server_observer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace coracle::opentelemetry_internal {

class served_calls final : public server_observer {
 public:
  explicit served_calls(std::shared_ptr<const bridge_core> by) noexcept : by_(std::move(by)) {}

  [[nodiscard]] server_observer& on_loop(const loop& /*where*/, std::uint32_t methods) override {
    methods_.store(methods, std::memory_order_relaxed);  // the same on all loops
    return *this;
  }
  // Only of calls that have a span which is recorded.
  [[nodiscard]] bool wants_progress() const noexcept override { return false; }
  void call_started(served_call& c) noexcept override {
    if (by_->served) by_->served->begin(labels_of(c));
    if (!by_->tracer) return;
    try {
      const std::string_view method = is_registered(c) ? c.context.method() : unknown_method;
      auto made = std::make_unique<call_span>(*by_->tracer, "Recv.", method,
                                              ::opentelemetry::trace::SpanKind::kServer,
                                              by_->extract(c.context.metadata()));
      // Calls that the handler makes, and log lines, belong to the span.
      if (const auto here = made->span().GetContext(); here.IsValid())
        c.context.set_trace(from_opentelemetry(here));
      c.wants_progress = made->span().IsRecording();
      c.user = made.release();
    } catch (const std::bad_alloc&) {
    }
  }
  void message_received(served_call& c, message_size m) noexcept override {
    if (c.user) span_of(c).message_received(m);
  }
  void message_sent(served_call& c, message_size m) noexcept override {
    if (c.user) span_of(c).message_sent(m);
  }
  void call_ended(served_call& c, const status& outcome, time_point now) noexcept override {
    const std::unique_ptr<call_span> span(static_cast<call_span*>(std::exchange(c.user, nullptr)));
    if (by_->served) {
      call_labels of = labels_of(c);
      of.add("grpc.status", name_of(outcome.code()));
      by_->served->end(of, now - c.began, c.traffic(), span ? span->in() : call_instruments::context());
    }
    if (span) span->end(outcome);
  }

 private:
  static constexpr std::string_view unknown_method = "_OTHER";
  static call_span& span_of(const served_call& c) noexcept { return *static_cast<call_span*>(c.user); }
  [[nodiscard]] bool is_registered(const served_call& c) const noexcept {
    return c.method_index < methods_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] call_labels labels_of(const served_call& c) const noexcept {
    call_labels made;
    made.add("grpc.method", by_->label_of(name_of_method(c.context.method()), is_registered(c)));
    return made;
  }

  const std::shared_ptr<const bridge_core> by_;
  std::atomic<std::uint32_t> methods_{0};
};

}  // namespace coracle::opentelemetry_internal
