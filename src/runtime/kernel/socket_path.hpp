// socket_path: removal of the files of UNIX sockets.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// Implement backend::remove_stale_path() and remove_path().
std::int64_t remove_stale_path(const raw_address& at) noexcept;
void remove_path(const raw_address& at) noexcept;

}  // namespace coracle::runtime_internal::kernel
