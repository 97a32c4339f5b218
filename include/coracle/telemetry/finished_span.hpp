// finished_span: a span of a trace that has ended, as an exporter gets it.
#pragma once

#include "coracle/rpc/trace_context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace coracle {

/// The value of an attribute of a span.
using attribute_value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;

/// The attributes of a span, an event or a link: keys and values. Keys are unique.
using attribute_list = std::vector<std::pair<std::string, attribute_value>>;

/// The limits of what a span holds. What exceeds a count is left out and counted; what exceeds a length is
/// cut between two characters. The counts are the defaults of OpenTelemetry's specification. A value has the
/// limits that a program can change.
struct span_limits {
  static constexpr std::size_t attributes_max = 128;        ///< of a span, an event or a link
  static constexpr std::size_t events_max = 128;            ///< of a span
  static constexpr std::size_t links_max = 128;             ///< of a span
  static constexpr std::size_t list_values_max = 128;       ///< values of an attribute that is a list
  static constexpr std::size_t name_bytes_max = 256;  ///< of the name of a span, an event or an attribute
  static constexpr std::size_t value_bytes_max = 4096;  ///< of a text in an attribute
  static constexpr std::size_t description_bytes_max = 1024;  ///< of the description of a status

  std::uint32_t attributes = attributes_max;    ///< in place of attributes_max
  std::uint32_t events = events_max;            ///< in place of events_max
  std::uint32_t links = links_max;              ///< in place of links_max
  std::uint32_t value_bytes = value_bytes_max;  ///< in place of value_bytes_max
};

/// What a span describes (SpanKind of OpenTelemetry).
enum class span_kind : std::uint8_t {
  internal,  ///< work within the program
  server,  ///< a call that the program serves
  client,  ///< a call that the program makes
  producer,  ///< the program sends a message that is processed later
  consumer,  ///< the program processes a message that was sent earlier
};

/// How a span ended, for the tools that show errors.
enum class span_outcome : std::uint8_t {
  unset,  ///< neither of the following was said
  success,  ///< it is known to be right (OK in OTLP)
  error,  ///< it failed; finished_span::description says how
};

/// Something that happened at a moment of a span.
class span_event {
 public:
  /// Without a name.
  span_event() = default;
  std::string name;  ///< such as "Inbound message"
  std::chrono::system_clock::time_point time{};  ///< when
  attribute_list attributes;  ///< at most span_limits::attributes_max
  std::uint32_t dropped_attributes = 0;  ///< those beyond the limit
};
static_assert(!std::is_aggregate_v<span_event>, "GCC 12 destroys aggregates in co_await expressions twice");

/// A reference to a span that is neither parent nor child, perhaps of another trace.
class span_link {
 public:
  /// A link to nothing.
  span_link() = default;
  trace_context::trace_id trace{};  ///< the trace of the other span
  trace_context::span_id span{};  ///< its id
  std::string state;  ///< its tracestate
  std::uint8_t flags = 0;  ///< its trace flags (W3C): bit 0 sampled, bit 1 random trace id
  bool remote = false;  ///< whether the other span was received from another process
  attribute_list attributes;  ///< at most span_limits::attributes_max
  std::uint32_t dropped_attributes = 0;  ///< those beyond the limit
};
static_assert(!std::is_aggregate_v<span_link>, "GCC 12 destroys aggregates in co_await expressions twice");

/// A span that has ended. A value type. All of its texts are valid UTF-8 and within span_limits.
class finished_span {
 public:
  /// An internal span without a name.
  finished_span() = default;

  trace_context::trace_id trace{};  ///< its trace
  trace_context::span_id span{};  ///< its id
  trace_context::span_id parent{};  ///< the id of its parent; all zeros: it is the root of the trace
  bool parent_is_remote = false;  ///< whether the parent belongs to another process
  std::uint8_t flags = 0;  ///< the trace flags (W3C): bit 0 sampled, bit 1 random trace id
  std::string state;  ///< the tracestate
  std::string name;  ///< such as "Recv.movie.MovieService.AddMovie"
  span_kind kind = span_kind::internal;  ///< what it describes
  std::chrono::system_clock::time_point start{};  ///< when it began
  std::chrono::system_clock::time_point end{};  ///< when it ended; never before `start`
  attribute_list attributes;  ///< at most span_limits::attributes_max
  std::vector<span_event> events;  ///< in order of time; at most span_limits::events_max
  std::vector<span_link> links;  ///< at most span_limits::links_max
  span_outcome outcome = span_outcome::unset;  ///< how it ended
  std::string description;  ///< of an error: "UNAVAILABLE, no connection to movies.example"
  std::uint32_t dropped_attributes = 0;  ///< those beyond the limit
  std::uint32_t dropped_events = 0;  ///< those beyond the limit
  std::uint32_t dropped_links = 0;  ///< those beyond the limit

  /// Returns the value of the attribute with this key; null if there is none. Valid as long as `attributes`
  /// is not changed.
  [[nodiscard]] const attribute_value* find(std::string_view key) const noexcept;
};
static_assert(!std::is_aggregate_v<finished_span>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Receives the finished spans of a runtime: an exporter, or a test. Users derive from it, and pass it to
/// telemetry::add_span_sink().
class span_sink {
 public:
  virtual ~span_sink() = default;
  /// Takes spans that have ended, at most 512 at a time. Runs on the loops of the runtime, several at once,
  /// between calls: it must not block. It keeps what it has room for, and counts the rest in dropped().
  virtual void take(std::vector<finished_span>&& batch) noexcept = 0;
  /// Returns how many spans the sink has dropped so far, because it had no room or could not deliver them.
  /// May be called while take() runs.
  [[nodiscard]] virtual std::uint64_t dropped() const noexcept = 0;
};

}  // namespace coracle
