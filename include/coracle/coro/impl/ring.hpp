// ring: a FIFO queue of fixed capacity.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::coro {

// Allocates its memory in the constructor, and none after that. The caller must not call push() on a full
// ring, nor front() or pop() on an empty one; this is not checked.
template <class T>
class ring {
 public:
  explicit ring(std::size_t capacity)
      : slots_(capacity ? std::allocator<T>().allocate(capacity) : nullptr), capacity_(capacity) {}
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() {
    while (size_) pop();
    if (slots_) std::allocator<T>().deallocate(slots_, capacity_);
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] T& front() noexcept { return slots_[first_]; }
  void push(T&& value) noexcept {
    std::size_t at = first_ + size_;
    if (at >= capacity_) at -= capacity_;
    std::construct_at(slots_ + at, std::move(value));
    ++size_;
  }
  void pop() noexcept {
    std::destroy_at(slots_ + first_);
    if (++first_ == capacity_) first_ = 0;
    --size_;
  }

 private:
  T* slots_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace coracle::coro
