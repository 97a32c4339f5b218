// file_calls: the kernel's operations on files, as blocking calls.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// Performs op.file. Call it on a thread that may block.
std::int64_t perform_file(operation& op) noexcept;
// Returns the result of an operation of kind `file` that io_uring completed with `result`.
std::int64_t file_result(operation& op, std::int64_t result) noexcept;
bool has_positions(handle h) noexcept;
// Closes the handle here, because backends keep no bookkeeping for files.
void close_file(handle h) noexcept;

}  // namespace coracle::runtime_internal::kernel
