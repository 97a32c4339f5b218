#include "tools/load/descriptor_limit.hpp"

#include "tools/failure.hpp"

#include <sys/resource.h>

#include <string>

namespace coracle::tools::load {

void allow_descriptors(std::uint64_t needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (limit.rlim_max < needed)
    throw failure("these connections require " + std::to_string(needed) +
                  " file descriptors, and the limit of a process is " + std::to_string(limit.rlim_max) +
                  ": raise it with `ulimit -Hn`, or use fewer connections");
  limit.rlim_cur = needed;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace coracle::tools::load
