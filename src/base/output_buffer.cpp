#include "base/output_buffer.hpp"

#include "coracle/base/impl/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::base {

namespace {
constexpr std::size_t min_bytes = 256;  // the few frames or replies of one turn on most connections
}

void output_buffer::append(bytes_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
  commit(bytes.size());
}

void output_buffer::consume(std::size_t n) noexcept {
  CORACLE_ASSERT(n <= size(), "consumed more bytes than are pending");
  begin_ += n;
  if (begin_ == end_) begin_ = end_ = 0;
}

void output_buffer::release(std::size_t keep) noexcept {
  if (!empty() || capacity_ <= keep) return;
  data_.reset();
  begin_ = end_ = capacity_ = 0;
}

void output_buffer::swap(output_buffer& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(capacity_, other.capacity_);
}

void output_buffer::make_room(std::size_t n) {
  const std::size_t held = size();
  if (begin_ > 0 && capacity_ - held >= n && begin_ >= held) {
    std::memcpy(data_.get(), data_.get() + begin_, held);  // the two ranges cannot overlap
  } else {
    const std::size_t min_capacity = std::max({min_bytes, capacity_ * 2, held + n});
    std::unique_ptr<std::uint8_t[]> bigger(new std::uint8_t[min_capacity]);
    if (held) std::memcpy(bigger.get(), data_.get() + begin_, held);
    data_ = std::move(bigger);
    capacity_ = min_capacity;
  }
  begin_ = 0;
  end_ = held;
}

}  // namespace coracle::base
