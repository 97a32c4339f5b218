// A process with less than it needs: what death tests call in their child.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

namespace coracle::testing_support {

inline void limit(int resource, std::size_t to) {
  rlimit both{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &both);
  both.rlim_cur = to;
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

// The next descriptor that the process would get. Lifts the limit.
inline int lowest_free_descriptor() {
  rlimit both{};
  ::getrlimit(RLIMIT_NOFILE, &both);
  limit(RLIMIT_NOFILE, both.rlim_max);
  const int free = ::dup(0);
  ::close(free);
  return free;
}

// So many descriptors more than it has.
inline void limit_descriptors(int more) {
  limit(RLIMIT_NOFILE, static_cast<std::size_t>(lowest_free_descriptor() + more));
}

// Root's rings count against nobody's limit: the process becomes nobody, for good.
inline void limit_locked_memory(std::size_t bytes) {
  limit(RLIMIT_MEMLOCK, bytes);
  constexpr uid_t nobody = 65534;
  if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(3);
}

}  // namespace coracle::testing_support
