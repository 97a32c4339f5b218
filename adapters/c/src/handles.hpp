// handles: the numbers that stand for objects, which are never used twice.
#pragma once

#include "failure.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace coracle::c_abi {

enum class handle_kind : std::uint8_t { runtime = 1, channel, call, queue, server };

// Makes a handle of an object, which the handle keeps alive. Throws std::bad_alloc, and failure when four
// million handles are open.
[[nodiscard]] std::uint64_t open_handle(handle_kind kind, std::shared_ptr<void> object);
// Returns the object of a handle; null if the handle is closed, of another kind or never existed.
[[nodiscard]] std::shared_ptr<void> find_handle(handle_kind kind, std::uint64_t handle) noexcept;
// Closes a handle and returns its object; null as above. One of several threads that close it gets the object.
std::shared_ptr<void> close_handle(handle_kind kind, std::uint64_t handle) noexcept;

[[noreturn]] void throw_invalid_handle(handle_kind kind, std::uint64_t handle);

template <class T>
std::shared_ptr<T> object_of(std::uint64_t handle) {
  std::shared_ptr<void> found = find_handle(T::kind_of_handle, handle);
  if (!found) throw_invalid_handle(T::kind_of_handle, handle);
  return std::static_pointer_cast<T>(std::move(found));
}
template <class T>
std::shared_ptr<T> closed_object_of(std::uint64_t handle) {
  std::shared_ptr<void> found = close_handle(T::kind_of_handle, handle);
  if (!found) throw_invalid_handle(T::kind_of_handle, handle);
  return std::static_pointer_cast<T>(std::move(found));
}

}  // namespace coracle::c_abi
