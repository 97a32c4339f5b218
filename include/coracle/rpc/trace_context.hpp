// trace_context: which trace a call belongs to, and below which span.
#pragma once

#include "coracle/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {

// A value. On the wire it is `traceparent` and `tracestate` (W3C Trace Context) or `grpc-trace-bin` (OpenCensus'
// binary form, which other implementations of gRPC use).
class trace_context {
 public:
  using trace_id = std::array<std::uint8_t, 16>;
  using span_id = std::array<std::uint8_t, 8>;
  // A longer tracestate is not carried on; W3C Trace Context 3.3.1.5 asks for at least as much.
  static constexpr std::size_t state_bytes_max = 512;

  trace_context(const trace_id& trace, const span_id& span, bool sampled, std::string_view state = {});

  // "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; of versions to come the part that this one knows.
  // Nothing when it is malformed, or an id is all zeros.
  static std::optional<trace_context> parse(std::string_view traceparent, std::string_view state = {});
  static std::optional<trace_context> parse_binary(std::string_view bytes);

  [[nodiscard]] const trace_id& trace() const noexcept { return trace_; }
  // Of the span that the call was made in.
  [[nodiscard]] const span_id& span() const noexcept { return span_; }
  [[nodiscard]] bool sampled() const noexcept { return sampled_; }
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  // The same trace, seen from a span of one's own: what a tracer hands to the calls that are made in it.
  [[nodiscard]] trace_context below(const span_id& span) const {
    return trace_context(trace_, span, sampled_, state_);
  }

  [[nodiscard]] std::string traceparent() const;
  [[nodiscard]] std::string binary() const;

 private:
  trace_id trace_;
  span_id span_;
  bool sampled_;
  std::string state_;
};

}  // namespace coracle
