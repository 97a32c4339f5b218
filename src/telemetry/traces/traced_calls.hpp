// traced_calls: begins, follows and ends the spans of calls, for their observers.
#pragma once

#include "coracle/client/client_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/rpc/trace_context.hpp"
#include "coracle/server/server_observer.hpp"
#include "telemetry/metrics/call_series.hpp"
#include "telemetry/traces/call_spans.hpp"
#include "telemetry/traces/tracer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle::telemetry_internal {

// A call of a server that has a span.
struct traced_served_call : coro::pooled {
  traced_served_call(method_calls& c, span_start&& s, std::string_view method, tracer& by)
      : calls(c), span(std::move(s), span_kind::server, "Recv.", method, by) {}
  method_calls& calls;
  call_span span;
};

// A call of a client that has a span, or that must tell the server that its trace is dropped.
struct traced_call : coro::pooled {
  traced_call(method_calls& c, const span_start& s) : calls(c), context(s.context) {}
  method_calls& calls;
  trace_context context;  // what attempts belong to
  bool binary = false;  // attempts send grpc-trace-bin
  std::optional<call_span> span;
};

// What a call carries for its observer: the series of its method, or a Traced that has them, too. One test
// tells its end whether there is more to do than to count.
template <class Traced>
class call_data {
 public:
  explicit call_data(void* user) noexcept : bits_(reinterpret_cast<std::uintptr_t>(user)) {}
  explicit call_data(std::unique_ptr<Traced> t) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(t.release()) | traced_bit) {}
  // A call that is not traced, and of which the end looks whether it has series, and is to be recorded.
  [[nodiscard]] static call_data checked_at_end(method_calls* c) noexcept {
    call_data made(c);
    made.bits_ |= checked_bit;
    return made;
  }
  [[nodiscard]] void* user() const noexcept { return reinterpret_cast<void*>(bits_); }
  [[nodiscard]] bool is_traced() const noexcept { return (bits_ & traced_bit) != 0; }
  // Its user() is the series.
  [[nodiscard]] bool is_only_counted() const noexcept { return (bits_ & (traced_bit | checked_bit)) == 0; }
  // Of a call that is traced.
  [[nodiscard]] Traced& traced() const noexcept { return *reinterpret_cast<Traced*>(bits_ & ~traced_bit); }
  [[nodiscard]] std::unique_ptr<Traced> take() const noexcept { return std::unique_ptr<Traced>(&traced()); }
  // Of a call that is not; null if there was no memory.
  [[nodiscard]] method_calls* plain() const noexcept {
    return reinterpret_cast<method_calls*>(bits_ & ~checked_bit);
  }
  [[nodiscard]] method_calls* calls() const noexcept { return is_traced() ? &traced().calls : plain(); }

 private:
  static constexpr std::uintptr_t traced_bit = 1;
  static constexpr std::uintptr_t checked_bit = 2;
  std::uintptr_t bits_;
};

// Return null if the call needs no data beside the series. Throw std::bad_alloc.
[[nodiscard]] std::unique_ptr<traced_served_call> begin_trace(served_call& c, method_calls& calls,
                                                              tracer& by);
[[nodiscard]] std::unique_ptr<traced_call> begin_trace(observed_call& c, method_calls& calls,
                                                       const server_name& server, tracer& by);
// Begins the span of an attempt, and gives it the metadata that name the span. Null: the call has no span.
// Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<call_span> begin_attempt(observed_attempt& a, traced_call& of, tracer& by);
// Records a call at its end, although it was not sampled, if the options ask for it.
void record_late(served_call& c, const method_calls& calls, const status& outcome, time_point now,
                 tracer& by) noexcept;

}  // namespace coracle::telemetry_internal
