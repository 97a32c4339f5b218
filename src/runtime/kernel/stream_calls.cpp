#include "runtime/kernel/stream_calls.hpp"

#include "runtime/kernel/poll_now.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <string>

namespace coracle::runtime_internal::kernel {

namespace {

constexpr off_t own_position = -1;
constexpr std::size_t pieces_max = 1024;  // IOV_MAX

// Not every file supports RWF_NOWAIT: terminals do not, and pipes do since Linux 6.5.
bool unknown_here(int error) noexcept { return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

bool is_ready(handle h, short events) noexcept {
  pollfd p{h, events, 0};
  return poll_now(p) > 0;
}

// Suppresses the SIGPIPE of this thread for one call. Keeps a SIGPIPE that was pending before, which has
// another cause.
class without_sigpipe {
 public:
  without_sigpipe() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    theirs_ = ::sigismember(&pending, SIGPIPE) == 1;
    if (!theirs_) ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (theirs_) return;
    const timespec at_once{};
    const int error = errno;
    if (error == EPIPE)
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool theirs_;
};

// A writable terminal may have room for a single byte only, and a blocking write waits for the rest. Opening
// the terminal anew for this write gives a non-blocking file description, and leaves the shell's unchanged.
ssize_t write_to_terminal(handle h, const iovec& first) noexcept {
  const std::string path = "/proc/self/fd/" + std::to_string(h);
  const int own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own < 0) return -1;
  const ssize_t n = ::write(own, first.iov_base, first.iov_len);
  const int error = errno;
  ::close(own);
  errno = error;
  return n;
}

// A writable pipe has room for this many bytes (pipe(7)): a blocking write of no more does not wait.
ssize_t write_what_fits(handle h, const iovec& first) noexcept {
  if (::isatty(h)) return write_to_terminal(h, first);
  if (!is_ready(h, POLLOUT)) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(h, first.iov_base, std::min<std::size_t>(first.iov_len, PIPE_BUF));
}

}  // namespace

std::int64_t read_now(handle h, mutable_bytes into) noexcept {
  for (;;) {
    const iovec room{into.data(), into.size()};
    ssize_t n = ::preadv2(h, &room, 1, own_position, RWF_NOWAIT);
    if (n < 0 && unknown_here(errno)) {
      if (!is_ready(h, POLLIN)) return -EAGAIN;
      n = ::read(h, into.data(), into.size());
    }
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t write_now(handle h, const iovec* pieces, std::size_t count) noexcept {
  while (count > 1 && pieces->iov_len == 0) ++pieces, --count;
  const without_sigpipe held;
  for (;;) {
    ssize_t n =
        ::pwritev2(h, pieces, static_cast<int>(std::min(count, pieces_max)), own_position, RWF_NOWAIT);
    if (n < 0 && unknown_here(errno)) n = write_what_fits(h, *pieces);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t open_pipe(handle (&ends)[2]) noexcept {
  return ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
}

bool is_disk_file(handle h) noexcept {
  struct stat found{};
  return ::fstat(h, &found) == 0 && (S_ISREG(found.st_mode) || S_ISBLK(found.st_mode));
}

}  // namespace coracle::runtime_internal::kernel
