// borrowed: shares an object of a test that outlives what it is shared with.
#pragma once

#include <memory>

namespace coracle::testing_support {

template <class T>
std::shared_ptr<T> borrowed(T& object) noexcept {
  return {std::shared_ptr<void>(), &object};
}

}  // namespace coracle::testing_support
