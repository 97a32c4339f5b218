// A slab: objects in stable places, addressed by a small index and recycled without touching the heap.
#pragma once

#include "coracle/base/assert.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace coracle::base {

// T need not be movable; an object stays where it was made until erase(). Indices of erased
// objects are reused, last freed first, while the memory is still in the cache.
template <class T, std::size_t ChunkSize = 32>
class slab {
 public:
  using index = std::uint32_t;
  slab() noexcept = default;
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;
  ~slab() {
    for (index i = 0; i < used_; ++i)
      if (cell& c = at(i); c.live) object(c).~T();
  }

  template <class... Args>
  index emplace(Args&&... args) {
    index i = free_ != none ? free_ : grow();
    cell& c = at(i);
    const index next_free = c.next_free;
    ::new (static_cast<void*>(c.storage)) T(std::forward<Args>(args)...);
    if (i == free_) free_ = next_free;
    c.live = true;
    ++size_;
    return i;
  }
  void erase(index i) noexcept {
    cell& c = at(i);
    CORACLE_ASSERT(c.live, "erased a slab index that is free");
    c.live = false;
    object(c).~T();
    c.next_free = free_;
    free_ = i;
    --size_;
  }
  T& operator[](index i) noexcept { return object(at(i)); }
  const T& operator[](index i) const noexcept { return object(const_cast<slab*>(this)->at(i)); }
  [[nodiscard]] bool live(index i) const noexcept { return i < used_ && const_cast<slab*>(this)->at(i).live; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // One past the largest index ever used: for walks with live().
  [[nodiscard]] index bound() const noexcept { return used_; }
  // Frees the memory when nothing lives in it.
  void release() noexcept {
    if (size_ != 0) return;
    std::vector<std::unique_ptr<cell[]>>().swap(chunks_);
    used_ = 0;
    free_ = none;
  }

 private:
  static constexpr index none = ~index{0};
  struct cell {
    alignas(T) unsigned char storage[sizeof(T)];
    index next_free = none;
    bool live = false;
  };
  cell& at(index i) noexcept { return chunks_[i / ChunkSize][i % ChunkSize]; }
  static T& object(cell& c) noexcept { return *std::launder(reinterpret_cast<T*>(c.storage)); }
  index grow() {
    if (used_ % ChunkSize == 0) chunks_.push_back(std::make_unique<cell[]>(ChunkSize));
    free_ = used_;
    return used_++;
  }
  std::vector<std::unique_ptr<cell[]>> chunks_;
  index used_ = 0;
  index free_ = none;
  std::size_t size_ = 0;
};

}  // namespace coracle::base
