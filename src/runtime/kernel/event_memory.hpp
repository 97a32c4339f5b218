// event_memory: the memory of a loop's event_ring, which costs nothing until events fill it.
#pragma once

#include "base/event_ring.hpp"

namespace coracle::runtime_internal {

class event_memory {
 public:
  // Throws std::bad_alloc.
  event_memory();
  event_memory(const event_memory&) = delete;
  event_memory& operator=(const event_memory&) = delete;
  ~event_memory();
  [[nodiscard]] base::event_record* records() const noexcept { return records_; }

 private:
  base::event_record* const records_;
};

}  // namespace coracle::runtime_internal
