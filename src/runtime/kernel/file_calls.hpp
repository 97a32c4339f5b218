// What files need of the kernel, as calls that block.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// Does what op.file asks for. On a thread that may block.
std::int64_t perform_file(operation& op) noexcept;
// The result of an operation of kind `file` that io_uring has ended with `result`.
std::int64_t file_result(operation& op, std::int64_t result) noexcept;
bool has_positions(handle h) noexcept;
// Files have no part in a backend's bookkeeping, so that their handles are closed here.
void close_file(handle h) noexcept;

}  // namespace coracle::runtime_internal::kernel
