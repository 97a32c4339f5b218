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
  std::string name;  // FileDescriptorName=; "unknown" where the manager gives none
};

// Those of that name, all for an empty one, in the manager's order. Never empty: FAILED_PRECONDITION when none are for
// this process, NOT_FOUND when none has the name, INVALID_ARGUMENT when the variables contradict themselves. They stay
// the manager's: an acceptor adopts one by a descriptor of its own, so that the next server may do so again.
result<std::vector<inherited_socket>> inherited_sockets(std::string_view name);
// The same for what was read.
result<std::vector<inherited_socket>> inherited_sockets(const runtime_internal::kernel::inheritance& said,
                                                        std::string_view name);
// Why backend::adopt_listener() refused it.
status inherited_error(std::int64_t error, const inherited_socket& s);

}  // namespace coracle::net
