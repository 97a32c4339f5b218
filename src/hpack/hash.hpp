// hash_bytes: a fast hash of short strings for the tables of one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coracle::hpack {

// Not keyed: a peer that forces collisions slows down only its own connection, and every user bounds its
// search (a direct-mapped cache, chains within one dynamic table).
inline std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd = 0x9fb21c651e98df25u;
  const auto mix = [](std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * odd;
    return h ^ (h >> 29);
  };
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t h = mix(seed, size);
  std::uint64_t word = 0;
  if (size >= 8) {
    const unsigned char* last = at + size - 8;
    for (; at < last; at += 8) {
      std::memcpy(&word, at, 8);
      h = mix(h, word);
    }
    std::memcpy(&word, last, 8);  // overlaps the previous word
    return mix(h, word);
  }
  if (size >= 4) {
    std::uint32_t first;
    std::uint32_t last;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + size - 4, 4);
    return mix(h, std::uint64_t{first} << 32 | last);
  }
  for (std::size_t i = 0; i < size; ++i) word = word << 8 | at[i];
  return mix(h, word);
}

}  // namespace coracle::hpack
