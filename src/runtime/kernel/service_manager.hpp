// service_manager: messages to the service manager that has started this process, such as systemd.
#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::runtime_internal::kernel {

// Sends a message to the service manager (sd_notify(3)) where there is one (NOTIFY_SOCKET), such as
// "READY=1". Does not wait. Returns 0, also without a service manager, or -errno.
std::int64_t notify_service_manager(std::string_view message) noexcept;

}  // namespace coracle::runtime_internal::kernel
