// fault_rules: which calls have an injected fault, and which one (gRFC A33); without I/O or clock.
#pragma once

#include "base/random_below.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::rpc {

using base::random_below;

// A part of all calls. Callers may ask for a smaller one.
struct fault_share {
  static constexpr std::uint64_t whole = 1'000'000;

  std::uint64_t millionths = 0;
  std::uint64_t unit = whole / 100;  // of the numbers that callers send, in millionths: percent

  // percentage: the name of the metadata with the number of the caller; empty: callers have none.
  [[nodiscard]] bool draw(const metadata& sent, std::string_view percentage,
                          const random_below& random) const;
};

// A fault that callers may choose in their metadata if `fixed` is nothing, or `by_metadata` is true.
template <class T>
struct fault_rule {
  std::optional<T> fixed;
  fault_share of;
  bool by_metadata = false;
};

class fault_rules {
 public:
  std::optional<fault_rule<duration>> delay;
  std::optional<fault_rule<status>> abort;  // OK: the call ends, without a reply

  // The fault of one call with this metadata; zero means no delay.
  [[nodiscard]] duration draw_delay(const metadata& sent, const random_below& random) const;
  [[nodiscard]] std::optional<status> draw_abort(const metadata& sent, const random_below& random) const;
};

inline constexpr std::uint32_t fault_code_max = 16;  // of gRPC
[[nodiscard]] constexpr bool is_fault_http_status(std::uint32_t http) noexcept {
  return http >= 200 && http < 600;
}
// The status of an abort with a code, with the text of all implementations.
[[nodiscard]] status aborted_by_fault(status_code code);
// The code for a status of HTTP; 200 is UNKNOWN, an answer without a status.
[[nodiscard]] status_code fault_code_of_http(std::uint32_t http);

}  // namespace coracle::rpc
