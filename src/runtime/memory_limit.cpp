#include "runtime/memory_limit.hpp"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace coracle::runtime_internal {

namespace {

void tighten(memory_limit& l, std::uint64_t bytes, std::string source) {
  if (bytes < l.bytes) l = {bytes, std::move(source)};
}

// "max" and missing files set no limit. Version 1 writes a number near 2^63 instead of "max".
void tighten_by_file(memory_limit& l, const std::string& root, const std::string& path) {
  std::ifstream file(root + path);
  std::string text;
  std::uint64_t bytes = 0;
  if (!std::getline(file, text)) return;
  if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec == std::errc())
    tighten(l, bytes, path);
}

// Reads the files of the group and of all groups up to the root of the mount. In a container without a cgroup
// namespace, the group's path is that of the host and does not exist; the root of the mount is then the
// container's own group.
void tighten_by_group(memory_limit& l, const std::string& root, const std::string& mount,
                      std::string_view group, std::initializer_list<const char*> files) {
  while (true) {
    while (group.ends_with('/')) group.remove_suffix(1);
    for (const char* f : files) tighten_by_file(l, root, mount + std::string(group) + "/" + f);
    if (group.empty()) return;
    group = group.substr(0, group.find_last_of('/') + 1);
  }
}

}  // namespace

std::uint64_t address_space_limit() noexcept {
  rlimit both{};
  if (::getrlimit(RLIMIT_AS, &both) != 0 || both.rlim_cur == RLIM_INFINITY) return memory_limit::none;
  return both.rlim_cur;
}

memory_limit read_memory_limit(const std::string& root, std::uint64_t address_space_bytes) {
  memory_limit l;
  tighten(l, address_space_bytes, "RLIMIT_AS");
  // One line per hierarchy, "number:controllers:path" (cgroups(7)); version 2 has number 0 and no
  // controllers.
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (line.starts_with("0::")) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        tighten_by_group(l, root, mount, group, {"memory.max", "memory.high"});
    } else if (controllers.find(",memory,") != std::string::npos) {
      tighten_by_group(l, root, "/sys/fs/cgroup/memory", group, {"memory.limit_in_bytes"});
    }
  }
  return l;
}

}  // namespace coracle::runtime_internal
