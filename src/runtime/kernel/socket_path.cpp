#include "runtime/kernel/socket_path.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace coracle::runtime_internal::kernel {

namespace {

sockaddr_un unwrap(const raw_address& at) noexcept {
  sockaddr_un s{};
  std::memcpy(&s, at.bytes, sizeof s);  // at.bytes is larger, and zero after at.size
  return s;
}

// A connect to a UNIX socket never waits: it succeeds, is refused, or finds the queue full, at once.
bool somebody_listens(const raw_address& at) noexcept {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;  // unknown: keeps the file
  const sockaddr_un s = unwrap(at);
  const int outcome = ::connect(probe, reinterpret_cast<const sockaddr*>(&s), at.size);
  const bool refused = outcome < 0 && errno == ECONNREFUSED;
  ::close(probe);
  return !refused;
}

}  // namespace

std::int64_t remove_stale_path(const raw_address& at) noexcept {
  const sockaddr_un s = unwrap(at);
  struct stat found{};
  if (::lstat(s.sun_path, &found) < 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(found.st_mode)) return -EEXIST;
  if (somebody_listens(at)) return -EADDRINUSE;
  if (::unlink(s.sun_path) < 0 && errno != ENOENT) return -errno;
  return 0;
}

void remove_path(const raw_address& at) noexcept { ::unlink(unwrap(at).sun_path); }

}  // namespace coracle::runtime_internal::kernel
