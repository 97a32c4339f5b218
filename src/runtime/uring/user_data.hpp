// What a request carries through the kernel: a pointer, with its type in the low bits.
#pragma once

#include <cstdint>

namespace coracle::runtime_internal {

enum class tag : std::uint64_t { operation, receiver, acceptor, wake, ignored };

inline constexpr std::uint64_t tag_mask = 7;  // everything pointed to is aligned to 8

constexpr std::uint64_t tag_of(tag t) noexcept { return static_cast<std::uint64_t>(t); }
template <class T>
std::uint64_t user_data_of(tag t, const T& object) noexcept {
  static_assert(alignof(T) > tag_mask);
  return reinterpret_cast<std::uintptr_t>(&object) | tag_of(t);
}
constexpr tag tag_in(std::uint64_t user_data) noexcept { return static_cast<tag>(user_data & tag_mask); }
template <class T>
T* pointer_in(std::uint64_t user_data) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(user_data & ~tag_mask));
}

// A completion that was kept aside and taken off the count of requests then. The kernel uses the lowest flags only.
inline constexpr std::uint32_t completion_was_counted = 1u << 15;

}  // namespace coracle::runtime_internal
