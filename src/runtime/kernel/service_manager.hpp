// service_manager: messages to the service manager that has started this process, such as systemd.
#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::runtime_internal::kernel {

// Whether this process has one that hears messages (NOTIFY_SOCKET).
bool has_service_manager() noexcept;
// Sends a message to the service manager (sd_notify(3)) where there is one, such as "READY=1", with a
// descriptor unless that is -1, which stays the caller's. Does not wait. Returns 0, also without a service
// manager, or -errno: -EAGAIN if the manager has not read earlier messages yet.
std::int64_t notify_service_manager(std::string_view message, int descriptor = -1) noexcept;

// Whether every process has closed the end of a pipe to which is written. Nothing was written to it.
bool other_end_is_closed(int read_end) noexcept;

}  // namespace coracle::runtime_internal::kernel
