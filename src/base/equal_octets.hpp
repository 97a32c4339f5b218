// equal_octets: compares short sequences of octets in place, where a call of memcmp costs more.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coracle::base {

namespace equal_octets_internal {

template <class Word>
bool differ(const std::uint8_t* a, const std::uint8_t* b) noexcept {
  Word x;
  Word y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x != y;
}

// The last word overlaps octets that were compared already.
template <class Word>
bool equal_words(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) noexcept {
  for (std::size_t i = 0; i + sizeof(Word) < n; i += sizeof(Word))
    if (differ<Word>(a + i, b + i)) return false;
  return !differ<Word>(a + n - sizeof(Word), b + n - sizeof(Word));
}

}  // namespace equal_octets_internal

inline bool equal_octets(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) noexcept {
  using namespace equal_octets_internal;
  if (n >= 8) return equal_words<std::uint64_t>(a, b, n);
  if (n >= 4) return equal_words<std::uint32_t>(a, b, n);
  for (; n != 0; --n)
    if (*a++ != *b++) return false;
  return true;
}

inline bool equal_octets(bytes_view a, bytes_view b) noexcept {
  return a.size() == b.size() && equal_octets(a.data(), b.data(), a.size());
}

}  // namespace coracle::base
