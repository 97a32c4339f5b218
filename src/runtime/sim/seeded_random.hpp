// seeded_random: the only chance in a simulation. The same seed draws the same numbers on every machine.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::sim {

// SplitMix64: one addition and three multiplications a draw, any seed is good.
class seeded_random {
 public:
  explicit seeded_random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t draw() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 <= result < n. The bias of a few in 2^64 does not matter here.
  std::uint64_t below(std::uint64_t n) noexcept { return draw() % n; }
  // True with this chance. What cannot happen draws nothing.
  bool hits(double chance) noexcept {
    return chance > 0 && static_cast<double>(draw() >> 11) * 0x1p-53 < chance;
  }
  // 0 <= result <= most.
  duration up_to(duration most) noexcept {
    if (most <= duration::zero()) return duration::zero();
    return duration(static_cast<duration::rep>(below(static_cast<std::uint64_t>(most.count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace coracle::sim
