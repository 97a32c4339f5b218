// fault: a fault of coracle chaos: its kind, how strong or how frequent it is, and when it occurs.
#pragma once

#include <coracle/base/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::tools::chaos {

enum class fault_kind : std::uint8_t {
  delay,        // bytes arrive later
  slow,         // few bytes per second
  refuse,       // a connection is reset when it is accepted
  handshake,    // a connection is reset when its client has sent something
  alert,        // a TLS handshake is answered with a fatal alert
  certificate,  // a TLS handshake is answered with the certificate of an impostor
  close,        // a connection is reset at some time
  truncate,     // a connection ends in an orderly way, but within a record or frame
  stall,        // from some time on, nothing passes, and neither side is told
  corrupt,      // bytes are changed
  goaway,       // a client is asked to use another connection
  reset,        // streams are reset after their response headers
};
inline constexpr std::size_t fault_kind_count = 12;

[[nodiscard]] std::string_view name_of(fault_kind k) noexcept;

// Of its members, each kind uses what its form below names.
struct fault {
  fault_kind kind = fault_kind::delay;
  duration least{}, most{};     // delay 20ms..200ms
  std::uint64_t bytes = 0;      // slow 64KB: per second and direction. corrupt 1MB: one byte in so many.
                                // truncate 1MB: after so many, on average
  double chance = 0;            // refuse 10%, alert 10%, reset 10% and others: of connections, of streams
  duration mean{};              // close 30s, stall 30s, goaway 30s: after the connection has begun
  duration from{};              // since the program's start
  duration until = duration::max();

  [[nodiscard]] bool is_active(duration at) const noexcept { return at >= from && at < until; }
};

// Parses "KIND VALUE [from TIME] [to TIME]". Throws usage_failure, whose text begins with `where`.
[[nodiscard]] fault parse_fault(std::string_view text, std::string_view where);
// The same for the lines of a file, without those that are empty or begin with #.
[[nodiscard]] std::vector<fault> parse_script(std::string_view text, std::string_view file);

}  // namespace coracle::tools::chaos
