// memory_limit: how much memory the system lets this process use.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace coracle::runtime_internal {

struct memory_limit {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = none;
  std::string source;  // what sets it: the file, or RLIMIT_AS; empty without a limit
};

// RLIMIT_AS of this process.
std::uint64_t address_space_limit() noexcept;

// The tightest limit of the process's cgroup, of all cgroups above it, and of the address space. Of cgroup v2 it reads
// memory.max and memory.high, of cgroup v1 memory.limit_in_bytes, where systemd mounts them: below /sys/fs/cgroup. A file that
// cannot be read sets no limit. Tests pass a `root` of their own, which /proc and /sys are looked up in.
// Reads files, and so blocks: for start-up.
memory_limit read_memory_limit(const std::string& root = {},
                               std::uint64_t address_space_bytes = address_space_limit());

}  // namespace coracle::runtime_internal
