// seeded_random: the only source of randomness in a simulation. The same seed yields the same numbers on
// every machine.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::sim {

// SplitMix64: one addition and two multiplications per draw; any seed is suitable.
class seeded_random {
 public:
  explicit seeded_random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t draw() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns 0 <= result < n. The bias of a few in 2^64 is irrelevant here.
  std::uint64_t below(std::uint64_t n) noexcept { return draw() % n; }
  // Returns true with this probability. A probability of 0 draws no number.
  bool hits(double chance) noexcept {
    return chance > 0 && static_cast<double>(draw() >> 11) * 0x1p-53 < chance;
  }
  // Returns 0 <= result <= most.
  duration up_to(duration upper_bound) noexcept {
    if (upper_bound <= duration::zero()) return duration::zero();
    return duration(static_cast<duration::rep>(below(static_cast<std::uint64_t>(upper_bound.count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace coracle::sim
