// stream_calls: non-blocking reads and writes of pipes, terminals and devices.
#pragma once

#include "runtime/backend.hpp"

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>

namespace coracle::runtime_internal::kernel {

// read_now() and write_now() do not set O_NONBLOCK, which would apply to every process that shares the open
// file: for a terminal, the user's shell and the programs that it starts. They return a number of bytes, 0 at
// the end, or -errno; -EAGAIN when the call would have to wait.
std::int64_t read_now(handle h, mutable_bytes into) noexcept;
// Reports a broken pipe as -EPIPE, without the signal. May write only a part.
std::int64_t write_now(handle h, const iovec* pieces, std::size_t count) noexcept;

// Opens both ends non-blocking. Returns 0 or -errno.
std::int64_t open_pipe(handle (&ends)[2]) noexcept;
// Whether the handle is a file on a disk: it always polls as ready, yet a read may block.
bool is_disk_file(handle h) noexcept;

}  // namespace coracle::runtime_internal::kernel
