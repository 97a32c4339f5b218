// memory_limit: how much memory the system lets this process use.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace coracle::runtime_internal {

struct memory_limit {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = none;
  std::string source;  // what sets the limit: the file, or RLIMIT_AS; empty without a limit
};

// Returns RLIMIT_AS of this process.
std::uint64_t address_space_limit() noexcept;

// Returns the lowest limit among the process's cgroup, all cgroups above it, and the address space. Reads
// memory.max and memory.high of cgroup v2, and memory.limit_in_bytes of cgroup v1, at the paths where systemd
// mounts them, below /sys/fs/cgroup. A file that cannot be read sets no limit. Tests pass a `root` that
// replaces the root of /proc and /sys. Reads files and therefore blocks: call it at start-up.
memory_limit read_memory_limit(const std::string& root = {},
                               std::uint64_t address_space_bytes = address_space_limit());

}  // namespace coracle::runtime_internal
