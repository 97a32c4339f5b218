// The faults of io_uring that a whole test run is to live with: CORACLE_TEST_URING_FAULTS, names of
// uring_faults.cpp with commas between them. tests/ctest.cmake says which runs there are.
#pragma once

#include "coracle/runtime/runtime.hpp"

namespace coracle::testing_support {

// Whether one of them keeps io_uring from working at all.
bool io_uring_is_to_refuse() noexcept;
// `asked`, or what the library chooses by itself where that is io_uring, which is to refuse.
inline backend_choice or_what_is_left(backend_choice asked) noexcept {
  return asked == backend_choice::io_uring && io_uring_is_to_refuse() ? backend_choice::automatic : asked;
}
// Whether there are any: for tests of what io_uring costs at its best.
bool io_uring_has_faults() noexcept;

}  // namespace coracle::testing_support
