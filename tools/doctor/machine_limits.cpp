// The limits of the process and of its control group.
#include "tools/doctor/machine.hpp"
#include "tools/doctor/system_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <thread>

namespace coracle::tools::doctor {

namespace {

constexpr unsigned long long mib = 1ull << 20;

std::string limit_text(::rlim_t limit, bool is_size) {
  if (limit == RLIM_INFINITY) return "unlimited";
  return is_size ? in_bytes(limit) : std::to_string(limit);
}

void check_open_files(findings& to) {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string found =
      limit_text(limit.rlim_cur, false) + " (may be raised to " + limit_text(limit.rlim_max, false) + ")";
  const std::string advice =
      "each connection takes a descriptor: raise it by ulimit -n, or LimitNOFILE= of the systemd unit";
  if (limit.rlim_cur < 1024) to.problem("open files", found, advice);
  else to.mention(limit.rlim_cur < 16'384, "open files", found, advice);
}

void check_memory_limits(findings& to) {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  to.mention(limit.rlim_cur < 8 * mib, "locked memory", limit_text(limit.rlim_cur, true),
             "before Linux 5.12, the rings of io_uring count as locked memory: ulimit -l, or LimitMEMLOCK=");
  ::getrlimit(RLIMIT_AS, &limit);
  const std::string found = limit_text(limit.rlim_cur, true);
  const std::string advice =
      "threads and rings reserve addresses that they do not use: ulimit -v unlimited, and a limit on "
      "memory by the control group instead";
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < 1024 * mib)
    to.problem("address space", found, advice);
  else to.mention(limit.rlim_cur != RLIM_INFINITY, "address space", found, advice);
  ::getrlimit(RLIMIT_CORE, &limit);
  to.mention(limit.rlim_cur == 0, "core dumps",
             limit.rlim_cur == 0 ? "off" : limit_text(limit.rlim_cur, true),
             "after a crash there is nothing to look at: ulimit -c unlimited, or LimitCORE=infinity");
}

// The folder of the process's group in the unified hierarchy (cgroup v2), and those above it, the root last.
std::vector<std::string> groups() {
  std::vector<std::string> all;
  const std::string root = "/sys/fs/cgroup";
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3); !path.empty() && path != "/"; path.erase(path.rfind('/')))
      all.push_back(root + path);
  }
  all.push_back(root);
  return all;
}

void check_group_memory(findings& to) {
  unsigned long long lowest = ~0ull;
  std::string where;
  for (const std::string& group : groups())
    for (const char* const file : {"/memory.max", "/memory.high", "/memory/memory.limit_in_bytes"})
      if (const auto limit = number_in(group + file); limit && *limit < lowest)
        lowest = *limit, where = group;
  if (lowest > (1ull << 60)) return to.ok("control group: memory", "no limit");
  std::string found = in_bytes(lowest);
  const auto used = number_in(where + "/memory.current");
  if (used) found += ", " + in_bytes(*used) + " in use";
  const bool full = used && *used > lowest / 10 * 9;
  const std::string advice =
      "the kernel ends processes of the group at the limit: raise memory.max, or lower "
      "server_options::memory";
  if (full || lowest < 64 * mib) to.problem("control group: memory", found, advice);
  else to.ok("control group: memory", found);
}

void check_group_processors(findings& to) {
  double fewest = 0;
  for (const std::string& group : groups()) {
    std::istringstream text(text_of(group + "/cpu.max").value_or(""));
    double quota = 0;
    double period = 0;
    if (text >> quota >> period && period > 0)
      fewest = fewest > 0 ? std::min(fewest, quota / period) : quota / period;
  }
  if (fewest == 0) return to.ok("control group: processors", "no limit");
  std::ostringstream found;
  found.precision(3);
  found << "time of " << fewest << " processors";
  const auto threads = std::max(1u, std::thread::hardware_concurrency());
  to.mention(fewest < threads, "control group: processors", found.str(),
             "a server with more loops than that pauses when the time of a period is used up: set "
             "runtime_options::loops to " +
                 std::to_string(std::max(1, static_cast<int>(std::ceil(fewest)))));
}

}  // namespace

void check_limits(findings& to) {
  check_open_files(to);
  check_memory_limits(to);
  check_group_memory(to);
  check_group_processors(to);
}

}  // namespace coracle::tools::doctor
