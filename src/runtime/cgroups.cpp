#include "runtime/cgroups.hpp"

#include <fstream>

namespace coracle::runtime_internal {

namespace {

// In a container without a cgroup namespace, the group's path is that of the host and does not exist; the
// root of the mount is then the container's own group.
template <class F>
void for_each_above(const std::string& mount, std::string_view group, F f) {
  while (true) {
    while (group.ends_with('/')) group.remove_suffix(1);
    f(mount + std::string(group) + "/");
    if (group.empty()) return;
    group = group.substr(0, group.find_last_of('/') + 1);
  }
}

}  // namespace

void for_each_cgroup(const std::string& root, std::string_view controller,
                     const std::function<void(const std::string& folder, int version)>& f) {
  // One line per hierarchy, "number:controllers:path" (cgroups(7)); version 2 has number 0 and no
  // controllers.
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string wanted = "," + std::string(controller) + ",";
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (line.starts_with("0::")) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        for_each_above(mount, group, [&](const std::string& folder) { f(folder, 2); });
    } else if (controllers.find(wanted) != std::string::npos) {
      for_each_above("/sys/fs/cgroup/" + std::string(controller), group,
                     [&](const std::string& folder) { f(folder, 1); });
    }
  }
}

}  // namespace coracle::runtime_internal
