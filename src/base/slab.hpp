// slab: objects at stable addresses, found by a small index and recycled without touching the heap.
#pragma once

#include "coracle/base/impl/assert.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace coracle::base {

template <class T, std::size_t ChunkSize>
class slab;

// Refers to an object in a slab. When the object is gone, its copies find nothing, even if another object has
// taken the place. A default-constructed one refers to nothing.
template <class T>
class slab_ref {
 public:
  slab_ref() noexcept = default;
  friend bool operator==(const slab_ref& a, const slab_ref& b) noexcept {
    return a.generation_ == b.generation_;
  }
  // Orders references by when the objects of one slab were made.
  friend auto operator<=>(const slab_ref& a, const slab_ref& b) noexcept {
    return a.generation_ <=> b.generation_;
  }

 private:
  template <class U, std::size_t ChunkSize>
  friend class slab;
  slab_ref(T* at, std::uint64_t generation) noexcept : at_(at), generation_(generation) {}
  T* at_ = nullptr;
  std::uint64_t generation_ = 0;
};

// T need not be movable: an object stays where it was made until erase(). The places of erased objects are
// reused, last freed first, while their memory is still in the cache.
template <class T, std::size_t ChunkSize = 32>
class slab {
 public:
  using index = std::uint32_t;
  using ref = slab_ref<T>;
  slab() noexcept = default;
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;
  ~slab() {
    for (index i = 0; i < used_; ++i)
      if (cell& c = at(i); c.generation != 0) object(c).~T();
  }

  template <class... Args>
  T& emplace(Args&&... args) {
    const index i = free_ != none ? free_ : grow();
    cell& c = at(i);
    T* const made = ::new (static_cast<void*>(c.storage)) T(std::forward<Args>(args)...);
    free_ = c.next_free;
    c.generation = ++generations_;
    ++size_;
    return *made;
  }
  void erase(T& object) noexcept {
    cell& c = cell_of(object);
    CORACLE_ASSERT(c.generation != 0, "erased an element that is not in the slab");
    c.generation = 0;
    object.~T();
    c.next_free = free_;
    free_ = c.index_of;
    --size_;
  }
  T& operator[](index i) noexcept { return object(at(i)); }
  const T& operator[](index i) const noexcept { return object(const_cast<slab*>(this)->at(i)); }
  [[nodiscard]] static index index_of(T& object) noexcept { return cell_of(object).index_of; }
  [[nodiscard]] static ref ref_to(T& object) noexcept { return {&object, cell_of(object).generation}; }
  // Returns null when the object is gone.
  [[nodiscard]] T* find(ref r) const noexcept {
    return r.generation_ > released_ && cell_of(*r.at_).generation == r.generation_ ? r.at_ : nullptr;
  }
  [[nodiscard]] bool live(index i) const noexcept {
    return i < used_ && const_cast<slab*>(this)->at(i).generation != 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // One past the largest index that was ever used: the bound for loops that check live().
  [[nodiscard]] index bound() const noexcept { return used_; }
  // Frees the memory when the slab holds no objects.
  void release() noexcept {
    if (size_ != 0) return;
    std::vector<std::unique_ptr<cell[]>>().swap(chunks_);
    used_ = 0;
    free_ = none;
    released_ = generations_;
  }

 private:
  static constexpr index none = ~index{0};
  struct cell {
    std::uint64_t generation = 0;  // 0: free
    index index_of = 0;
    index next_free = none;
    alignas(T) unsigned char storage[sizeof(T)];
  };
  cell& at(index i) noexcept { return chunks_[i / ChunkSize][i % ChunkSize]; }
  static T& object(cell& c) noexcept { return *std::launder(reinterpret_cast<T*>(c.storage)); }
  static cell& cell_of(T& object) noexcept {
    return *reinterpret_cast<cell*>(reinterpret_cast<unsigned char*>(&object) - offsetof(cell, storage));
  }
  index grow() {
    if (used_ % ChunkSize == 0) chunks_.push_back(std::make_unique<cell[]>(ChunkSize));
    cell& c = at(used_);
    c.index_of = used_;
    c.next_free = none;
    free_ = used_;
    return used_++;
  }
  std::vector<std::unique_ptr<cell[]>> chunks_;
  index used_ = 0;
  index free_ = none;
  std::size_t size_ = 0;
  std::uint64_t generations_ = 0;  // number of objects made so far
  std::uint64_t released_ = 0;  // last generation whose memory was freed
};

}  // namespace coracle::base
