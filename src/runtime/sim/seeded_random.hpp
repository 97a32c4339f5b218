// seeded_random: the only chance in a simulation. The same seed draws the same numbers on every machine.
#pragma once

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

 private:
  std::uint64_t state_;
};

}  // namespace coracle::sim
