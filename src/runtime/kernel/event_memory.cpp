#include "runtime/kernel/event_memory.hpp"

#include <sys/mman.h>
#include <cstdint>
#include <new>

namespace coracle::runtime_internal {

namespace {

constexpr std::size_t ring_bytes = base::event_ring::size_bytes;

// Reserves three times the ring_bytes, and returns what is not at the required place.
base::event_record* map_records() {
  void* const mapped = mmap(nullptr, 3 * ring_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  constexpr std::uintptr_t alignment = base::event_ring::alignment_bytes;
  const auto from = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t at = (from + alignment - 1) / alignment * alignment;
  if (at != from) munmap(mapped, at - from);
  if (const std::size_t behind = from + 3 * ring_bytes - (at + ring_bytes))
    munmap(reinterpret_cast<void*>(at + ring_bytes), behind);
  return reinterpret_cast<base::event_record*>(at);
}

}  // namespace

event_memory::event_memory() : records_(map_records()) {}
event_memory::~event_memory() { munmap(records_, ring_bytes); }

}  // namespace coracle::runtime_internal
