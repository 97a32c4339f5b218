#include "runtime/kernel/inherited_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

namespace coracle::runtime_internal::kernel {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Returns the value of a socket option, or -errno.
std::int64_t ask(handle h, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(h, SOL_SOCKET, option, &value, &size) < 0 ? -errno : value;
}

std::int64_t refuse_unless_a_stream(handle h) noexcept {
  const std::int64_t type = ask(h, SO_TYPE);
  if (type < 0) return type;
  if (type != SOCK_STREAM) return -EPROTOTYPE;
  const std::int64_t domain = ask(h, SO_DOMAIN);
  return domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX ? 0 : -EAFNOSUPPORT;
}

// Both options belong to the socket, not to the descriptor: they also change for other descriptors of it.
void prepare(handle h) noexcept {
  ::fcntl(h, F_SETFL, ::fcntl(h, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  if (ask(h, SO_DOMAIN) != AF_UNIX) ::setsockopt(h, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

inheritance read_inheritance() {
  return {::getpid(), variable("LISTEN_PID"), variable("LISTEN_FDS"), variable("LISTEN_FDNAMES")};
}

void keep_from_children(int count) noexcept {
  for (handle h = first_inherited; h < first_inherited + count; ++h)
    if (::fcntl(h, F_SETFD, FD_CLOEXEC) < 0) return;
}

std::int64_t adopt_listener(handle inherited) noexcept {
  if (const std::int64_t refused = refuse_unless_a_stream(inherited); refused < 0) return refused;
  if (ask(inherited, SO_ACCEPTCONN) != 1) return -EINVAL;
  const int own = ::fcntl(inherited, F_DUPFD_CLOEXEC, first_inherited);
  if (own < 0) return -errno;
  prepare(own);
  return own;
}

std::int64_t adopt_stream(handle connected) noexcept {
  if (const std::int64_t refused = refuse_unless_a_stream(connected); refused < 0) return refused;
  sockaddr_storage peer;
  socklen_t size = sizeof peer;
  if (::getpeername(connected, reinterpret_cast<sockaddr*>(&peer), &size) < 0) return -errno;
  ::fcntl(connected, F_SETFD, FD_CLOEXEC);
  prepare(connected);
  return connected;
}

}  // namespace coracle::runtime_internal::kernel
