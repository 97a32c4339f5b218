// inherited_sockets: listening sockets that the service manager opened for this process (systemd.socket(5)).
#pragma once

#include "coracle/base/result.hpp"
#include "runtime/kernel/inherited_sockets.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net {

struct inherited_socket {
  int descriptor = -1;
  std::string name;  // FileDescriptorName=; "unknown" if the manager sets none
};

// Returns the sockets with this name, or all for an empty name, in the manager's order. The result is never
// empty: fails with FAILED_PRECONDITION when no sockets are for this process, with NOT_FOUND when none has
// the name, and with INVALID_ARGUMENT when the variables contradict each other. The manager keeps ownership:
// an acceptor adopts a socket through a descriptor of its own, so that the next server can adopt it again.
result<std::vector<inherited_socket>> inherited_sockets(std::string_view name);
// Does the same for variables that were already read.
result<std::vector<inherited_socket>> inherited_sockets(const runtime_internal::kernel::inheritance& outcome,
                                                        std::string_view name);

// Names of sockets that an earlier process of the service has opened and the manager keeps (FDSTORE=1 of
// sd_notify(3)) begin so. Functions above leave them out.
inline constexpr std::string_view stored_prefix = "coracle|";
// Returns these; none where there is no manager. From now on the descriptors are the caller's: call it once.
std::vector<inherited_socket> stored_inheritance();
std::vector<inherited_socket> stored_inheritance(const runtime_internal::kernel::inheritance& outcome);
// The status for an error of backend::adopt_listener().
status inherited_error(std::int64_t error, const inherited_socket& s);

}  // namespace coracle::net
