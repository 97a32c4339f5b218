// file_entry: an operation of kind `file` as a request of io_uring.
#pragma once

#include "runtime/backend.hpp"

#include <liburing.h>

namespace coracle::runtime_internal {

void prepare_file(io_uring_sqe& e, const operation& op) noexcept;

}  // namespace coracle::runtime_internal
