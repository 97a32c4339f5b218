// sim::name_record: the result of a name lookup in a simulated world.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle::sim {

/// The result of looking up one name. A value. Without addresses, the name does not exist.
class name_record {
 public:
  /// An IP address.
  struct ip {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  // the first 4 for IPv4
  };

  name_record() noexcept = default;
  /// Adds an address such as "10.0.0.1" or "fd00::1"; any other text is a defect of the test and aborts.
  /// Lookups return the addresses in the order in which they were added.
  name_record& address(std::string_view literal);
  /// Makes lookups fail with UNAVAILABLE, as if the name servers did not answer, whatever the addresses.
  name_record& failing(bool on = true) noexcept { return failing_ = on, *this; }
  /// Sets the time that a lookup takes, whatever its result. Default: 1 ms.
  name_record& latency(duration d) noexcept { return latency_ = d, *this; }

  [[nodiscard]] const std::vector<ip>& addresses() const noexcept { return addresses_; }
  [[nodiscard]] bool failing() const noexcept { return failing_; }
  [[nodiscard]] duration latency() const noexcept { return latency_; }

 private:
  std::vector<ip> addresses_;
  duration latency_ = std::chrono::milliseconds(1);
  bool failing_ = false;
};
static_assert(!std::is_aggregate_v<name_record>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::sim
