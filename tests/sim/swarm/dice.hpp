// dice: the random numbers that a scenario draws from its seed, separate from those of the world.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::swarm {

// SplitMix64, as in the world. Each user constructs its own dice from a seed and a number, so that its draws
// do not depend on when others draw.
class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t whose) noexcept : state_(seed * 0x2545f4914f6cdd1du + whose) {
    draw();
  }
  std::uint64_t draw() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 <= result < n.
  std::uint64_t below(std::uint64_t n) noexcept { return draw() % n; }
  // least <= result <= most.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }
  duration up_to(duration most) noexcept {
    return duration(static_cast<duration::rep>(below(static_cast<std::uint64_t>(most.count()) + 1)));
  }
  // Small numbers as often as large ones: up to 2^bits.
  std::uint64_t size(unsigned bits) noexcept { return draw() & ((std::uint64_t{1} << below(bits + 1)) - 1); }

 private:
  std::uint64_t state_;
};

}  // namespace coracle::swarm
