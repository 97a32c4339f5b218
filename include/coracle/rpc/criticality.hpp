// criticality: how much it matters that a call succeeds, for servers that cannot serve all calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle {

/// How much it matters that a call succeeds: the four levels of Google's SRE book ("Handling Overload"). An
/// overloaded server with server_options::protect() rejects calls of lower levels first.
///
/// A client sets it with call_options::criticality, and the calls that a handler makes inherit it. On the
/// wire it is the metadata `x-request-criticality: SHEDDABLE`; a call without it is CRITICAL.
enum class criticality : std::uint8_t {
  /// Work whose failure is expected now and then, such as batches that run again.
  sheddable,
  /// Work that tolerates partial unavailability, such as batches that retry for minutes.
  sheddable_plus,
  /// What users wait for. The default.
  critical,
  /// What must not fail if anything works at all. Servers count it as critical unless they trust their
  /// clients with it (server_options::max_criticality).
  critical_plus,
};

/// Returns the name on the wire: "CRITICAL_PLUS", "CRITICAL", "SHEDDABLE_PLUS" or "SHEDDABLE".
[[nodiscard]] std::string_view to_string(criticality c) noexcept;
/// Returns the level with that name, exactly as to_string() writes it; nothing for other texts.
[[nodiscard]] std::optional<criticality> parse_criticality(std::string_view name) noexcept;

}  // namespace coracle
