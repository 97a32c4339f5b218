// tracer: begins and ends the spans of one loop.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/impl/executor_local.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/telemetry/finished_span.hpp"
#include "telemetry/traces/sampler_rule.hpp"
#include "telemetry/traces/span_buffer.hpp"
#include "telemetry/traces/trace_rules.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// How a span begins.
struct span_start {
  bool sampled = false;
  trace_context context;  // of the span, or of the trace that is dropped
  trace_context::span_id parent{};
  bool remote = false;
};

// Every function runs on its loop.
class tracer {
 public:
  tracer(std::shared_ptr<const trace_rules> rules, std::shared_ptr<span_buffer> finished, loop& owner_loop);

  [[nodiscard]] const trace_rules& rules() const noexcept { return *rules_; }
  [[nodiscard]] std::chrono::system_clock::time_point now() const noexcept { return loop_.wall_now(); }

  // The fast path of a server's call, that of nearly all calls if few are sampled: it begins a trace, and
  // the trace is dropped. Returns false if that is not so, or not known: begin_served() decides.
  [[nodiscard]] bool drops(server_context& c) noexcept { return drops(c, root_threshold_); }
  // The same, for calls of which nothing more is done at their end: rules().keeps_late is false.
  [[nodiscard, gnu::always_inline]] bool drops_for_good(server_context& c) noexcept {
    return drops(c, final_threshold_);
  }
  // Begins the span of a server's call, if it is sampled. Throws std::bad_alloc, as the following.
  [[nodiscard]] std::optional<span_start> begin_served(server_context& c, std::string_view method);
  // Begins a span of this program. `parent` is the span that it belongs to, if there is one.
  [[nodiscard]] span_start begin(const std::optional<trace_context>& parent, bool remote,
                                 std::optional<trace_flags> decision, std::string_view name);
  // Makes a child of a span of this program, which is sampled as its parent is.
  [[nodiscard]] span_start child_of(const trace_context& parent);
  // Returns whether a call that was not sampled is recorded at its end.
  [[nodiscard]] bool keeps(bool error, duration took) noexcept;
  // Begins the span of a server's call that was not sampled. It belongs to the trace that the call belongs
  // to.
  [[nodiscard]] span_start begin_late(const server_context& c);

  void finish(finished_span&& s) noexcept { finished_->add(std::move(s)); }
  void flush() noexcept { finished_->flush(); }

 private:
  [[nodiscard, gnu::always_inline]] bool drops(server_context& c, std::uint64_t threshold) noexcept {
    const std::uint64_t drawn = draw();
    if (random_part(drawn) >= threshold || rules_->by.may_extract(c.metadata())) [[unlikely]] {
      drawn_ = drawn;
      return false;
    }
    c.begin_dropped_trace(drawn);
    return true;
  }
  // A counter whose steps are random, so that loops do not repeat each other's ids, multiplied with itself in
  // another form; both halves of the product are mixed.
  [[nodiscard]] std::uint64_t draw() noexcept {
    __extension__ using product = unsigned __int128;
    state_ += increment_;
    const product p = static_cast<product>(state_) * (state_ ^ 0x9e3779b97f4a7c15);
    return static_cast<std::uint64_t>(p >> 64) ^ static_cast<std::uint64_t>(p);
  }
  [[nodiscard]] trace_context::span_id new_span_id() noexcept;
  // Returns the tracestate of a root that was sampled by a threshold.
  [[nodiscard]] const std::string& root_state(std::int64_t threshold);
  [[nodiscard]] span_start begin_root(std::optional<trace_flags> decision, std::string_view name);

  std::shared_ptr<const trace_rules> rules_;
  std::shared_ptr<span_buffer> finished_;
  loop& loop_;
  loop_sampler sampler_;
  std::uint64_t root_threshold_;  // see loop_sampler; 0, so that no call is dropped, if there is none
  std::uint64_t final_threshold_;  // the same; 0 if rules().keeps_late
  std::string root_state_;  // the tracestate of the roots that were sampled by root_state_of_
  std::int64_t root_state_of_ = -1;
  std::uint64_t state_;
  std::uint64_t increment_;
  std::uint64_t drawn_ = 0;  // by drops(), for the trace that begin_served() begins
  time_point kept_since_{};
  unsigned kept_ = 0;
};

// Where coroutines find the tracer of their loop.
struct loop_tracer final : coro::executor_local {
  tracer* current = nullptr;  // null: no traces are recorded
};

}  // namespace coracle::telemetry_internal
