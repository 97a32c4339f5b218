// if_memory_allows: runs work that may be omitted when memory runs out, such as writing a log line.
#pragma once

#include <new>

namespace coracle::base {

// Calls f. Returns false when f threw std::bad_alloc; what f had not done by then is omitted.
template <class F>
bool if_memory_allows(F&& f) noexcept {
  try {
    f();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace coracle::base
