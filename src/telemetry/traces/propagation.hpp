// propagation: the forms in which the position of a call in its trace travels as metadata.
#pragma once

#include "coracle/rpc/metadata.hpp"
#include "coracle/rpc/trace_context.hpp"
#include "coracle/telemetry/traces.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// What a caller sent.
struct received_trace {
  std::optional<trace_context> parent;
  // What it decided without naming a span, which b3 permits.
  std::optional<trace_flags> decision;
};

// Metadata come from peers: what is malformed is treated as if it were absent, and no value takes more
// memory than trace_context::state_bytes_max.
class propagation {
 public:
  explicit propagation(const propagator_set& by) noexcept;

  // Whether there is metadata that extract() would parse, or ignore as malformed. Most calls have none.
  [[nodiscard]] bool may_extract(const metadata& from) const noexcept {
    for (const auto field : from)
      if (((sizes_ >> (field.name.size() % 64)) & 1) != 0) [[unlikely]]
        return true;
    return false;
  }
  // Returns the caller's span in the first form that is valid: traceparent, b3, x-b3-..., then
  // grpc-trace-bin. Throws std::bad_alloc.
  [[nodiscard]] received_trace extract(const metadata& from) const;
  // Adds the span in all forms. Throws std::bad_alloc.
  void inject(const trace_context& span, bool binary, metadata& to) const;
  // Whether the library passes on what it received in all forms by itself (rpc::propagate()).
  [[nodiscard]] bool passes_by_itself() const noexcept {
    return !by_.b3 && !by_.b3_multi && !by_.grpc_trace_bin;
  }

 private:
  const propagator_set by_;
  std::uint64_t sizes_ = 0;  // the sizes of the keys that extract() reads, as bits
};

// Parses the value of b3 in one header. Gives neither a parent nor a decision if it is malformed.
[[nodiscard]] received_trace parse_b3(std::string_view value);
// Returns the members of a tracestate that are valid (W3C Trace Context 3.3), at most 32, without those on
// the right that do not fit into trace_context::state_bytes_max. Returns an empty text if a member is
// malformed.
[[nodiscard]] std::string valid_state(std::string_view header);
// Returns `state` with the member `ot`, OpenTelemetry's own, on the left and with this value, in place of
// the previous one. An empty value removes it.
[[nodiscard]] std::string with_own_member(std::string_view state, std::string_view value);
// Returns the value of the member `ot`; empty if there is none.
[[nodiscard]] std::string_view own_member(std::string_view state) noexcept;

}  // namespace coracle::telemetry_internal
