// Reading and writing pipes, terminals and devices without ever waiting.
#pragma once

#include "runtime/backend.hpp"

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

namespace coracle::runtime_internal::kernel {

// Neither sets O_NONBLOCK, which would belong to everybody who shares the open file: the user's shell and the
// programs that it starts, for a terminal. Bytes, 0 at the end, or -errno; -EAGAIN when it would have to wait.
std::int64_t read_now(handle h, mutable_bytes into) noexcept;
// A broken pipe is -EPIPE, without the signal. May write less than there is.
std::int64_t write_now(handle h, const iovec* pieces, std::size_t count) noexcept;

// Both ends, non-blocking. 0 or -errno.
std::int64_t open_pipe(handle (&ends)[2]) noexcept;
// Whether it is a file on a disk, which is always ready and still makes its reader wait.
bool is_disk_file(handle h) noexcept;

}  // namespace coracle::runtime_internal::kernel
