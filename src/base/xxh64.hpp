// xxh64: the hash function XXH64 (xxHash's specification, version 0.1.1). Hash rings and subsets of servers
// are defined by its values, so that clients of all languages agree on them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace coracle::base {

namespace xxh64_internal {

inline constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87;
inline constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4F;
inline constexpr std::uint64_t prime3 = 0x165667B19E3779F9;
inline constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63;
inline constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5;

template <class T>
T little_endian(const char* at) noexcept {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, at, sizeof value);
  } else {
    for (std::size_t i = 0; i < sizeof value; ++i)
      value |= static_cast<T>(static_cast<T>(static_cast<std::uint8_t>(at[i])) << (8 * i));
  }
  return value;
}

constexpr std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

}  // namespace xxh64_internal

inline std::uint64_t xxh64(std::string_view text, std::uint64_t seed = 0) noexcept {
  using namespace xxh64_internal;
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = seed + prime5;
  if (left >= 32) {
    std::uint64_t lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    for (; left >= 32; left -= 32)
      for (std::uint64_t& lane : lanes) {
        lane = round(lane, little_endian<std::uint64_t>(at));
        at += 8;
      }
    hash =
        std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * prime1 + prime4;
  }
  hash += text.size();
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ round(0, little_endian<std::uint64_t>(at)), 27) * prime1 + prime4;
  if (left >= 4) {
    hash = std::rotl(hash ^ little_endian<std::uint32_t>(at) * prime1, 23) * prime2 + prime3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; --left, ++at)
    hash = std::rotl(hash ^ static_cast<std::uint8_t>(*at) * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

}  // namespace coracle::base
