// if_memory_allows: for work that may be left out, a line of a log say.
#pragma once

#include <new>

namespace coracle::base {

// Does f. False when memory ran out within: what f had not done by then is left out.
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
