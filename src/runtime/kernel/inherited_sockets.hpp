// inherited_sockets: sockets that were opened outside of the library: those of a service manager, which opens
// them before it starts the program (sd_listen_fds(3)), and connections of the program.
#pragma once

#include "runtime/backend.hpp"

#include <optional>
#include <string>

namespace coracle::runtime_internal::kernel {

// The first inherited descriptor; the lower ones are stdin, stdout and stderr.
inline constexpr handle first_inherited = 3;

// The contents of the environment variables.
struct inheritance {
  std::int64_t process_id = 0;  // of this process
  std::optional<std::string> for_process;  // LISTEN_PID
  std::optional<std::string> count;  // LISTEN_FDS
  std::optional<std::string> names;  // LISTEN_FDNAMES
};
// Does not remove the variables: other threads may read the environment meanwhile, and LISTEN_PID prevents
// children from using them.
inheritance read_inheritance();

// Sets close-on-exec on the first `count` inherited descriptors that are open, so that child programs do not
// inherit them.
void keep_from_children(int count) noexcept;
// Implements backend::adopt_listener().
std::int64_t adopt_listener(handle inherited) noexcept;
// Implements backend::adopt_stream().
std::int64_t adopt_stream(handle connected) noexcept;

}  // namespace coracle::runtime_internal::kernel
