// service_manager: messages to the service manager that has started this process, such as systemd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::runtime_internal::kernel {

// How many descriptors the service manager keeps for the service while that restarts, which it says in
// FDSTORE; 0: none, or there is none that hears messages.
std::size_t descriptors_kept_max() noexcept;
// Whether the next process that the manager starts is in the place of this one (SYSTEMD_EXEC_PID): else this
// is the child of another process of the service, which would get the descriptors. True if it does not say.
bool is_started_by_manager() noexcept;
// Sends a message to the service manager (sd_notify(3)) where there is one, such as "READY=1", with a
// descriptor unless that is -1, which stays the caller's. Does not wait. Returns 0, also without a service
// manager, or -errno: -EAGAIN if the manager has not read earlier messages yet.
std::int64_t notify_service_manager(std::string_view message, int descriptor = -1) noexcept;

}  // namespace coracle::runtime_internal::kernel
