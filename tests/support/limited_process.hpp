// A process with fewer resources than it needs, temporarily or, in the child of a death test, permanently.
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

// Returns the next descriptor that the process would get. Lifts the limit.
inline int lowest_free_descriptor() {
  rlimit both{};
  ::getrlimit(RLIMIT_NOFILE, &both);
  limit(RLIMIT_NOFILE, both.rlim_max);
  const int free = ::dup(0);
  ::close(free);
  return free;
}

// UBSan opens a pipe to inspect the type of an object, and reports an error if it cannot.
constexpr bool sanitizer_takes_descriptors() {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  return true;
#endif
#endif
  return false;
}

// Permits the given number of additional descriptors.
inline void limit_descriptors(int more) {
  limit(RLIMIT_NOFILE, static_cast<std::size_t>(lowest_free_descriptor() + more));
}

// The same for the life of the object. Zero is a limit below the number that is open anyway: a thread of a
// sanitizer opens and closes a descriptor at times.
class descriptor_limit {
 public:
  explicit descriptor_limit(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    if (more > 0) limit_descriptors(more);
    else limit(RLIMIT_NOFILE, 3);
  }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// The rings of root count against no limit, so the process permanently becomes the user `nobody`.
inline void limit_locked_memory(std::size_t bytes) {
  limit(RLIMIT_MEMLOCK, bytes);
  constexpr uid_t nobody = 65534;
  if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(3);
}

}  // namespace coracle::testing_support
