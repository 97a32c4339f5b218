// handler_pool::default_limit(): how many threads the system permits.
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace grpc::internal {

namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// "max", as files of cgroups say, is none, and so is a file that does not exist.
std::size_t limit_in(const std::string& path) {
  std::ifstream from(path);
  std::size_t n = 0;
  return from >> n ? n : no_limit;
}

// The lowest pids.max of the cgroup of the process and those above it.
std::size_t limit_of_cgroups() {
  std::size_t lowest = no_limit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto controllers = line.find(':') + 1;
    const auto path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string names = line.substr(controllers, path - 1 - controllers);
    if (!names.empty() && names != "pids") continue;
    const std::string root = names.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/pids";
    for (std::string at = line.substr(path);; at.erase(at.rfind('/'))) {
      lowest = std::min(lowest, limit_in(root + at + "/pids.max"));
      if (at.rfind('/') == at.npos) break;
    }
  }
  return lowest;
}

}  // namespace

handler_pool::limit handler_pool::default_limit() {
  constexpr std::size_t most = 16'384;
  std::size_t permitted = std::min(
      {limit_in("/proc/sys/kernel/threads-max"), limit_in("/proc/sys/kernel/pid_max"), limit_of_cgroups()});
  rlimit of_user{};
  if (::getrlimit(RLIMIT_NPROC, &of_user) == 0 && of_user.rlim_cur != RLIM_INFINITY)
    permitted = std::min<std::size_t>(permitted, of_user.rlim_cur);
  return {std::clamp<std::size_t>(permitted / 2, 1, most), true};
}

}  // namespace grpc::internal
