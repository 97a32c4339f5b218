// output_buffer: outgoing bytes in a contiguous buffer that is written with reserve() and commit() and
// consumed from its front.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <memory>

namespace coracle::base {

// For one writer on one thread. Pointers from reserve() and views from pending() are valid until the next
// reserve(). Memory is kept for reuse; release() frees it when the owner goes idle.
class output_buffer {
 public:
  // Returns at least n writable bytes after the committed ones.
  std::uint8_t* reserve(std::size_t n) {
    if (capacity_ - end_ < n) make_room(n);
    return data_.get() + end_;
  }
  void commit(std::size_t n) noexcept { end_ += n; }
  // Removes the last n pending bytes, so that they are not sent.
  void retract(std::size_t n) noexcept { end_ -= n; }
  void append(bytes_view bytes);

  [[nodiscard]] bytes_view pending() const noexcept { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  void consume(std::size_t n) noexcept;
  void clear() noexcept { begin_ = end_ = 0; }
  // Frees the memory when nothing is pending and the buffer holds more than `keep` bytes.
  void release(std::size_t keep) noexcept;
  void swap(output_buffer& other) noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  void make_room(std::size_t n);
  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace coracle::base
