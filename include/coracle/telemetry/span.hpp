// span: a piece of the program's own work in a trace.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/trace_context.hpp"
#include "coracle/telemetry/finished_span.hpp"

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// @cond
namespace coro {
class promise_base;
}
namespace telemetry_internal {
struct span_state;  // private: src/telemetry/traces/span.cpp
}
/// @endcond

/// A span of the program: a piece of work, with its duration, in the trace of the call that it is done for.
///
///   coracle::span s = co_await coracle::start_span("load movies");
///   s.set("movies.count", 12);
///
/// From start_span() to the end of the span, whatever the coroutine awaits belongs to the span: the calls
/// that it makes, its tasks and scopes, and their spans. The span ends when it is destroyed, or by end().
/// Spans of one coroutine end in the reverse order of their start, as local variables do.
///
/// Owned by the coroutine that has started it, and used on the loop where it was started. A span may be
/// moved within its coroutine, but must not outlive it. If the trace is not sampled, a span records nothing
/// and costs a few nanoseconds.
class span {
 public:
  /// No span: all functions do nothing.
  span() noexcept = default;
  /// @cond
  explicit span(telemetry_internal::span_state* state) noexcept : state_(state) {}
  /// @endcond
  /// Moves the span.
  span(span&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Ends this span, and takes over `other`.
  span& operator=(span&& other) noexcept;
  /// Ends the span.
  ~span();

  /// Returns whether the span is recorded. If computing an attribute is expensive, compute it only then.
  [[nodiscard]] bool recording() const noexcept;
  /// Returns the position of the span in its trace; nothing if there is no span and no call.
  [[nodiscard]] std::optional<trace_context> context() const;

  /// @{
  /// Sets an attribute, or replaces the one with the same key. See span_limits for how many and how long
  /// they may be.
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }
  void set(std::string_view key, bool value);
  void set(std::string_view key, double value);
  void set(std::string_view key, std::vector<std::string> value);
  template <class Integer>
    requires std::is_integral_v<Integer> && (!std::is_same_v<Integer, bool>)
  void set(std::string_view key, Integer value) {
    set_value(key, static_cast<std::int64_t>(value));
  }
  /// @}
  /// Adds an event that happens now.
  void add_event(std::string_view name, attribute_list attributes = {});
  /// Adds a link to another span, such as the one that has put into a queue what this one processes.
  void add_link(const trace_context& other, attribute_list attributes = {});
  /// Marks the span as failed. The last call of fail() and succeed() counts.
  void fail(std::string_view description);
  /// Marks the span as failed if the status is not OK: "UNAVAILABLE, no connection". Returns the status.
  const status& note(const status& outcome);
  /// Marks the span as successful.
  void succeed();
  /// Ends the span now. What follows has no effect on it.
  void end() noexcept;

 private:
  void set_value(std::string_view key, attribute_value value);
  telemetry_internal::span_state* state_ = nullptr;  // null: not recorded
};

/// Starts a span: `coracle::span s = co_await coracle::start_span("load movies");`. Its parent is the span
/// in which the coroutine runs, or that of the call that it works for. Without either it begins a trace, if
/// the sampler says so. Without telemetry::trace() on the loop there is no span. Never suspends. `name` is
/// copied, at most span_limits::name_bytes_max bytes: it names a kind of work ("load movies"), what differs
/// belongs into attributes.
class start_span {
 public:
  /// Describes the span; it starts when this is awaited.
  explicit start_span(std::string_view name, span_kind kind = span_kind::internal) noexcept
      : name_(name), kind_(kind) {}
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    if constexpr (std::is_base_of_v<coro::promise_base, Promise>) state_ = begin(&h.promise());
    return false;
  }
  [[nodiscard]] span await_resume() const noexcept { return span(state_); }

 private:
  telemetry_internal::span_state* begin(coro::promise_base* in) const noexcept;
  std::string_view name_;
  span_kind kind_;
  telemetry_internal::span_state* state_ = nullptr;
  /// @endcond
};

/// Returns trace_of() the current coroutine: `const auto where = co_await coracle::this_trace();`. Never
/// suspends.
class this_trace {
 public:
  /// Await it: `co_await this_trace()`.
  this_trace() noexcept = default;
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    environment_ = &coro::environment_of(h);
    return false;
  }
  [[nodiscard]] std::optional<trace_context> await_resume() const { return trace_of(*environment_); }

 private:
  const coro::environment* environment_ = nullptr;
  /// @endcond
};

}  // namespace coracle
