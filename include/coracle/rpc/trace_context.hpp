// trace_context: the trace that a call belongs to, and the span that made the call.
#pragma once

#include "coracle/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {

namespace coro {
struct environment;
}

/// What is known of a trace beside its ids. A value type.
struct trace_flags {
  bool sampled = false;  ///< the caller records the trace
  bool random = false;  ///< the lower 7 bytes of the trace id are random (W3C Trace Context level 2)
  bool debug = false;  ///< b3's debug flag, which implies `sampled`; other forms do not carry it

  /// Returns the flags as W3C Trace Context writes them: bit 0 sampled, bit 1 random.
  [[nodiscard]] constexpr std::uint8_t bits() const noexcept {
    return static_cast<std::uint8_t>((sampled ? 1 : 0) | (random ? 2 : 0));
  }
};

/// The position of a call in a distributed trace. A value type.
///
/// On the wire it is `traceparent` and `tracestate` (W3C Trace Context), or `grpc-trace-bin` (OpenCensus'
/// binary form, which other gRPC implementations use).
class trace_context {
 public:
  /// The id of a trace.
  using trace_id = std::array<std::uint8_t, 16>;
  /// The id of a span within a trace.
  using span_id = std::array<std::uint8_t, 8>;
  /// The maximum size of the tracestate in bytes. A longer one is dropped. W3C Trace Context 3.3.1.5 requires
  /// support for at least this much.
  static constexpr std::size_t state_bytes_max = 512;

  /// `state` is the tracestate, which is dropped if it is longer than state_bytes_max.
  trace_context(const trace_id& trace, const span_id& span, bool sampled, std::string_view state = {});
  /// The same with all flags.
  trace_context(const trace_id& trace, const span_id& span, trace_flags flags, std::string_view state = {});

  /// Parses a traceparent such as "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Of a later
  /// version it reads the part that this version defines. Returns nothing if the text is malformed or an id
  /// is all zeros.
  static std::optional<trace_context> parse(std::string_view traceparent, std::string_view state = {});
  /// Parses the value of grpc-trace-bin. Returns nothing if it is malformed or an id is all zeros.
  static std::optional<trace_context> parse_binary(std::string_view bytes);

  /// Returns the id of the trace.
  [[nodiscard]] const trace_id& trace() const noexcept { return trace_; }
  /// Returns the id of the span that made the call.
  [[nodiscard]] const span_id& span() const noexcept { return span_; }
  /// Returns whether the caller records the trace.
  [[nodiscard]] bool sampled() const noexcept { return flags_.sampled; }
  /// Returns all flags.
  [[nodiscard]] trace_flags flags() const noexcept { return flags_; }
  /// Returns the tracestate of tracing systems; empty if there is none.
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  /// Returns the same trace with `span` as the current span. A tracer passes the result to the calls made
  /// within that span.
  [[nodiscard]] trace_context below(const span_id& span) const {
    return trace_context(trace_, span, flags_, state_);
  }

  /// Returns the value of the `traceparent` header. Flags that this version does not define are 0.
  [[nodiscard]] std::string traceparent() const;
  /// Returns the value of grpc-trace-bin.
  [[nodiscard]] std::string binary() const;

 private:
  trace_id trace_;
  span_id span_;
  trace_flags flags_;
  std::string state_;
};

/// Returns the position in its trace of work that has this environment: that of the current span, else of
/// the call that the work is done for. Nothing if there is neither. For log lines: trace(), span() and
/// flags() of the result. Call it on the loop of the work.
[[nodiscard]] std::optional<trace_context> trace_of(const coro::environment& e);

}  // namespace coracle
