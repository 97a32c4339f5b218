// poll_now: poll(2) of one descriptor, without a wait.
#pragma once

#include <poll.h>
#include <cerrno>

namespace coracle::runtime_internal::kernel {

// Returns what poll() does. A signal that arrives interrupts a poll() that finds nothing ready, even if that
// does not wait.
inline int poll_now(pollfd& p) noexcept {
  int n = 0;
  do n = ::poll(&p, 1, 0);
  while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace coracle::runtime_internal::kernel
