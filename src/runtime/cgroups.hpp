// cgroups: the folders of the control groups that limit this process.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace coracle::runtime_internal {

// Calls `f` with the folder of the process's cgroup that `controller` ("memory", "cpu") is in, and with those
// above it up to the root of the mount, of each version that the system has. The folders are where systemd
// mounts them, below /sys/fs/cgroup, and may not exist. `root` replaces the root of /proc and /sys, for
// tests, and is not part of the folder. Reads files and therefore blocks.
void for_each_cgroup(const std::string& root, std::string_view controller,
                     const std::function<void(const std::string& folder, int version)>& f);

}  // namespace coracle::runtime_internal
