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
  [[nodiscard]] bool drops(server_context& c) noexcept {
    if (root_threshold_ < 0 || rules_->by.may_extract(c.metadata())) [[unlikely]]
      return false;
    const std::uint64_t drawn = draw();
    if (static_cast<std::int64_t>(random_part(drawn)) >= root_threshold_) [[unlikely]] {
      drawn_ = drawn;
      return false;
    }
    c.begin_dropped_trace(drawn);
    return true;
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
  // A splitmix64 generator with an increment of its own, so that loops do not repeat each other's ids.
  [[nodiscard]] std::uint64_t draw() noexcept {
    std::uint64_t v = state_ += increment_;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
    v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
    return v ^ (v >> 31);
  }
  [[nodiscard]] trace_context::span_id new_span_id() noexcept;
  [[nodiscard]] span_start begin_root(std::optional<trace_flags> decision, std::string_view name);

  std::shared_ptr<const trace_rules> rules_;
  std::shared_ptr<span_buffer> finished_;
  loop& loop_;
  loop_sampler sampler_;
  std::int64_t root_threshold_;  // see loop_sampler
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
