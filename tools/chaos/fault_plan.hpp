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
  [[nodiscard]] bool resets(std::uint32_t stream, duration now) const {
    return decides(fault_kind::reset, stream, now);
  }
  // When the connection has this fault, if it lasts so long.
  [[nodiscard]] std::optional<duration> time_of(fault_kind k) const;
  // How much later the bytes of this direction from this position on arrive.
  [[nodiscard]] duration delay_of(direction d, std::uint64_t position, duration now) const;
  // The bytes per second that pass; 0: no limit.
  [[nodiscard]] std::uint64_t bytes_per_second(duration now) const;
  // Changes some of the bytes of a direction, which follow those of the call before. Returns how many.
  int corrupt(direction d, std::string& bytes, duration now);

 private:
  [[nodiscard]] bool decides(fault_kind k, std::uint64_t about, duration at) const;
  // From 0 to 1, without 1.
  [[nodiscard]] double draw(std::size_t fault, std::uint64_t about) const noexcept;

  const std::vector<fault>& faults_;
  const std::uint64_t seed_;
  const duration began_;
  // Of each fault that corrupts, for each direction: the position of the next byte to change.
  struct target {
    std::uint64_t next = 0;
    std::uint64_t changes = 0;  // so far
  };
  std::vector<target> targets_[2];
  std::uint64_t passed_[2]{};
};

}  // namespace coracle::tools::chaos
