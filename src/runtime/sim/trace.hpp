// trace: what happened in a simulated world, as one number.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::sim {

// Events that mean something to the programs inside; not turns or posts, which a change of the runtime may
// shift. The content of bytes is left out: ciphertext may differ from run to run.
enum class event_kind : std::uint8_t { connect, accept, refuse, bytes, end, reset, close, timer, signal };

class trace {
 public:
  // `who` is a socket or a loop, `amount` bytes or a port.
  void add(time_point when, event_kind what, std::uint64_t who, std::uint64_t amount = 0) noexcept {
    ++count_;
    mix(static_cast<std::uint64_t>(when.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(what));
    mix(who);
    mix(amount);
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  void mix(std::uint64_t word) noexcept {
    hash_ = (hash_ ^ word) * 0x9fb21c651e98df25u;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t hash_ = 0x6a09e667f3bcc908u;
  std::uint64_t count_ = 0;
};

}  // namespace coracle::sim
