// mixed: numbers that look random, and are the same in each run.
#pragma once

#include <cstdint>

namespace coracle::tools::load {

// The finalizer of Steele, Lea, Flood: "Fast splittable pseudorandom number generators".
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t n) noexcept {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

}  // namespace coracle::tools::load
