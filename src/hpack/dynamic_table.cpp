#include "hpack/dynamic_table.hpp"

#include "coracle/base/impl/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::hpack {

namespace {

constexpr std::uint32_t first_ring_bytes = 512;   // enough for the headers of a typical gRPC client
constexpr std::uint32_t first_entry_capacity = 16;

// An empty entry takes one byte, so that no two entries have the same offset.
constexpr std::uint32_t ring_share(std::uint32_t bytes) { return std::max(bytes, 1u); }
constexpr std::uint32_t ring_share(const dynamic_table::entry& e) {
  return ring_share(e.name_bytes + e.value_bytes);
}

}  // namespace

bool dynamic_table::insert(std::string_view name, std::string_view value) {
  const std::uint64_t cost = std::uint64_t{name.size()} + value.size() + entry_overhead_bytes;
  if (cost > max_bytes_) {
    // RFC 7541 4.4: the attempt to insert it empties the table.
    evict_to(0);
    return false;
  }
  const auto bytes = static_cast<std::uint32_t>(name.size() + value.size());
  evict_to(max_bytes_ - static_cast<std::uint32_t>(cost));
  if (count_ == entry_capacity_) grow_entries();
  std::unique_ptr<char[]> old;  // keeps the bytes that `name` may point into
  std::uint32_t offset = 0;
  if (!find_room(ring_share(bytes), offset)) offset = grow_ring(ring_share(bytes), old);
  char* to = bytes_.get() + offset;
  // The name may belong to an entry that was just evicted, and overlap the new entry's bytes: it is moved
  // first, with a copy that allows overlapping.
  if (!name.empty()) std::memmove(to, name.data(), name.size());
  if (!value.empty()) std::memcpy(to + name.size(), value.data(), value.size());
  entries_[inserted_ & entry_mask_] = {offset, static_cast<std::uint32_t>(name.size()),
                                       static_cast<std::uint32_t>(value.size()), 0};
  ++inserted_;
  ++count_;
  size_bytes_ += static_cast<std::uint32_t>(cost);
  return true;
}

void dynamic_table::set_max_bytes(std::uint32_t max_bytes) noexcept {
  CORACLE_ASSERT(max_bytes <= table_bytes_max, "limit the table to hpack::table_bytes_max");
  max_bytes_ = max_bytes;
  evict_to(max_bytes);
  if (max_bytes == 0) {
    bytes_.reset();
    entries_.reset();
    ring_bytes_ = 0;
    entry_capacity_ = 0;
    entry_mask_ = 0;
  }
}

void dynamic_table::evict_to(std::uint32_t bytes) noexcept {
  while (size_bytes_ > bytes) {
    const entry& oldest = at(inserted_ - count_);
    size_bytes_ -= oldest.name_bytes + oldest.value_bytes + entry_overhead_bytes;
    --count_;
  }
}

// Entries follow each other around the ring; the space between the newest and the oldest is free. An entry
// that does not fit before the ring's end is placed at its start, and the rest is skipped.
//
// With M = max_bytes() a ring of 2M bytes always has room for what M allows. While the live bytes do not
// wrap, they span at most M - bytes, so that either M + bytes are free after them or `bytes` before them.
// When they wrap, an entry that did not fit was placed at the front; the part before the ring's end begins
// above 2M minus that entry, and the free middle is larger than M minus the live bytes.
bool dynamic_table::find_room(std::uint32_t bytes, std::uint32_t& offset) const noexcept {
  if (count_ == 0) {
    offset = 0;
    return bytes <= ring_bytes_;
  }
  const entry& newest = at(inserted_ - 1);
  const entry& oldest = at(inserted_ - count_);
  const std::uint32_t head = newest.offset + ring_share(newest);
  const bool wrapped = newest.offset < oldest.offset;
  if ((wrapped ? oldest.offset : ring_bytes_) - head >= bytes) {
    offset = head;
    return true;
  }
  offset = 0;
  return !wrapped && oldest.offset >= bytes;
}

// Moves the entries to the front of a larger ring; returns the offset of the next entry.
std::uint32_t dynamic_table::grow_ring(std::uint32_t bytes, std::unique_ptr<char[]>& old) {
  std::uint32_t live = 0;
  for (std::uint32_t i = count_; i > 0; --i) live += ring_share(at(inserted_ - i));
  const std::uint32_t doubled = std::max(ring_bytes_ * 2, first_ring_bytes);
  const std::uint32_t capacity = std::max(std::min(doubled, max_bytes_ * 2), live + bytes);
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  std::uint32_t offset = 0;
  for (std::uint32_t i = count_; i > 0; --i) {
    entry& e = at(inserted_ - i);
    std::memcpy(larger.get() + offset, bytes_.get() + e.offset, e.name_bytes + e.value_bytes);
    e.offset = offset;
    offset += ring_share(e);
  }
  old = std::exchange(bytes_, std::move(larger));
  ring_bytes_ = capacity;
  return offset;
}

void dynamic_table::grow_entries() {
  const std::uint32_t capacity = std::max(entry_capacity_ * 2, first_entry_capacity);
  auto larger = std::make_unique_for_overwrite<entry[]>(capacity);
  for (std::uint32_t i = count_; i > 0; --i) larger[(inserted_ - i) & (capacity - 1)] = at(inserted_ - i);
  entries_ = std::move(larger);
  entry_capacity_ = capacity;
  entry_mask_ = capacity - 1;
}

std::size_t dynamic_table::capacity_bytes() const noexcept {
  return ring_bytes_ + std::size_t{entry_capacity_} * sizeof(entry);
}

}  // namespace coracle::hpack
