// The sockets that a service manager opens before it starts the program (sd_listen_fds(3)), as the process finds them.
#pragma once

#include "runtime/backend.hpp"

#include <optional>
#include <string>

namespace coracle::runtime_internal::kernel {

// The first of them: those before are stdin, stdout and stderr.
inline constexpr handle first_inherited = 3;

// What the environment says.
struct inheritance {
  std::int64_t process_id = 0;  // ours
  std::optional<std::string> for_process;  // LISTEN_PID
  std::optional<std::string> count;  // LISTEN_FDS
  std::optional<std::string> names;  // LISTEN_FDNAMES
};
// Leaves the variables as they are: other threads may read the environment meanwhile, and LISTEN_PID keeps children
// from taking them for theirs.
inheritance read_inheritance();

// The first `count` of them, or those that are open, are not for programs that this one starts.
void keep_from_children(int count) noexcept;
// As backend::adopt_listener().
std::int64_t adopt_listener(handle inherited) noexcept;

}  // namespace coracle::runtime_internal::kernel
