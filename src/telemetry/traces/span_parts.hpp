// span_parts: adds to a span within its limits.
#pragma once

#include "coracle/telemetry/finished_span.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// Returns the text with at most `bytes_max` bytes, cut between two characters, and with "?" in place of
// each byte that is not UTF-8: peers choose some of these texts.
[[nodiscard]] std::string bounded_text(std::string_view text, std::size_t bytes_max);

// Sets an attribute, replacing the one with the same key. Counts one that exceeds the limit in `dropped`.
// Throws std::bad_alloc, as the other functions.
void set_attribute(attribute_list& to, std::uint32_t& dropped, std::string_view key, attribute_value value,
                   const span_limits& within);
inline void set_attribute(finished_span& to, std::string_view key, attribute_value value,
                          const span_limits& within) {
  set_attribute(to.attributes, to.dropped_attributes, key, std::move(value), within);
}

// The same for a valid key that the span does not have yet.
void add_new_attribute(finished_span& to, std::string_view key, attribute_value value,
                       const span_limits& within);

// Adds an event; the reference is valid until the next one. Returns null, and counts it, if there are too
// many.
span_event* add_event(finished_span& to, std::string_view name, std::chrono::system_clock::time_point time,
                      const span_limits& within);
// The same for links.
span_link* add_link(finished_span& to, const trace_context& other, bool remote, const span_limits& within);
// Ends a span with an error.
void set_error(finished_span& to, std::string_view description);

}  // namespace coracle::telemetry_internal
