// The faults of io_uring for a whole test run: CORACLE_TEST_URING_FAULTS, names of uring_faults.cpp,
// separated by commas. tests/ctest.cmake lists the runs.
#pragma once

#include "coracle/runtime/runtime.hpp"

namespace coracle::testing_support {

// Whether one of them prevents io_uring from working at all.
bool io_uring_is_to_refuse() noexcept;
// `asked`, or the library's own choice where that is io_uring, which is to be refused.
inline backend_choice or_what_is_left(backend_choice asked) noexcept {
  return asked == backend_choice::io_uring && io_uring_is_to_refuse() ? backend_choice::automatic : asked;
}
// Whether there are any: for tests of the cost of io_uring under the best conditions.
bool io_uring_has_faults() noexcept;

}  // namespace coracle::testing_support
