// fault_plan: which faults a connection of coracle chaos has, and when; without I/O or clock.
#pragma once

#include "tools/chaos/fault.hpp"

#include <coracle/base/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools::chaos {

enum class direction : std::uint8_t { to_server, to_client };

// Every decision depends on the seed, the number of the connection, and what it is about (a stream, or a
// position in the bytes of a direction), so that a run with the same seed has the same faults however the
// bytes arrive.
// Times are since the program's start.
class fault_plan {
 public:
  fault_plan(const std::vector<fault>& faults, std::uint64_t seed, std::uint64_t connection, duration began);

  [[nodiscard]] bool refuses() const { return decides(fault_kind::refuse, 0, began_); }
  [[nodiscard]] bool ends_handshake() const { return decides(fault_kind::handshake, 0, began_); }
  [[nodiscard]] bool alerts() const { return decides(fault_kind::alert, 0, began_); }
  [[nodiscard]] bool impersonates() const { return decides(fault_kind::certificate, 0, began_); }
  [[nodiscard]] bool resets(std::uint32_t stream, duration now) const {
    return decides(fault_kind::reset, stream, now);
  }
  // When the connection has this fault, if it lasts so long.
  [[nodiscard]] std::optional<duration> time_of(fault_kind k) const;
  // How much later the bytes of this direction from this position on arrive.
  [[nodiscard]] duration delay_of(direction d, std::uint64_t position, duration now) const;
  // The bytes per second that pass; 0: no limit.
  [[nodiscard]] std::uint64_t bytes_per_second(duration now) const;
  // The bytes of a direction come in any pieces, one after another, from position 0 on. Returns how many of
  // these pass before the connection ends, if it does; after that, none.
  [[nodiscard]] std::optional<std::size_t> truncate(direction d, std::uint64_t position, std::size_t bytes,
                                                    duration now);
  // Changes some of the bytes. Returns how many.
  int corrupt(direction d, std::uint64_t position, std::string& bytes, duration now);

 private:
  [[nodiscard]] bool decides(fault_kind k, std::uint64_t about, duration at) const;
  // From 0 to 1, without 1.
  [[nodiscard]] double draw(std::size_t fault, std::uint64_t about) const noexcept;

  // The next byte that a fault concerns.
  struct target {
    std::uint64_t position = 0;
    std::uint64_t number = 0;  // of those of this fault
  };
  [[nodiscard]] target& target_of(std::size_t fault, direction d) noexcept {
    return targets_[static_cast<std::size_t>(d)][fault];
  }
  // What of a target's draws is its own, and no other's of this fault in either direction.
  [[nodiscard]] static std::uint64_t about(const target& t, direction d, std::uint64_t what) noexcept {
    return (t.number * 2 + static_cast<std::uint64_t>(d)) * 2 + what;
  }
  void advance(std::size_t fault, direction d) noexcept;

  const std::vector<fault>& faults_;
  const std::uint64_t seed_;
  const duration began_;
  // For each direction, of each fault that corrupts or truncates.
  std::vector<target> targets_[2];
};

}  // namespace coracle::tools::chaos
