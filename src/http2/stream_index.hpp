// stream_index: finds a stream's place in its connection's slab by its id.
#pragma once

#include "http2/event.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::http2 {

// An open-addressing table with linear probing, at most half full. erase() closes the gap, so that there are
// no tombstones to clean up. Grows with the number of open streams; release() frees an empty one.
class stream_index {
 public:
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  // Returns no_place if the id is not present. `id` is not 0.
  [[nodiscard]] std::uint32_t find(stream_id id) const noexcept {
    if (size_ == 0) return no_place;
    for (std::uint32_t i = home(id);; i = (i + 1) & mask_) {
      if (cells_[i].id == id) return cells_[i].place;
      if (cells_[i].id == 0) return no_place;
    }
  }
  // The id must not be present.
  void insert(stream_id id, std::uint32_t place) {
    reserve_one();
    insert_reserved(id, place);
  }
  // insert() in two steps: only reserve_one() allocates.
  void insert_reserved(stream_id id, std::uint32_t place) noexcept {
    put(id, place);
    ++size_;
  }
  void reserve_one() {
    if (!cells_ || (size_ + 1) * 2 > mask_ + 1) [[unlikely]]
      grow();
  }
  // The id must be present.
  void erase(stream_id id) noexcept;
  // Frees the memory if the index is empty.
  void release() noexcept {
    if (size_ == 0) cells_.reset();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return cells_ ? (mask_ + 1) * sizeof(cell) : 0;
  }

 private:
  struct cell {
    stream_id id = 0;
    std::uint32_t place = no_place;
  };
  // Fibonacci hashing, because ids grow in steps of two, and an attacker chooses them.
  [[nodiscard]] std::uint32_t home(stream_id id) const noexcept { return (id * 0x9e3779b1u) >> shift_; }
  void grow();
  void put(stream_id id, std::uint32_t place) noexcept;

  std::unique_ptr<cell[]> cells_;
  std::uint32_t mask_ = 0;
  std::uint32_t shift_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace coracle::http2
