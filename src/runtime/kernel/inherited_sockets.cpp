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

std::int64_t refuse_unless_it_listens(handle h) noexcept {
  const std::int64_t type = ask(h, SO_TYPE);
  if (type < 0) return type;
  if (type != SOCK_STREAM) return -EPROTOTYPE;
  const std::int64_t domain = ask(h, SO_DOMAIN);
  if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX) return -EAFNOSUPPORT;
  return ask(h, SO_ACCEPTCONN) == 1 ? 0 : -EINVAL;
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
  if (const std::int64_t refused = refuse_unless_it_listens(inherited); refused < 0) return refused;
  const int own = ::fcntl(inherited, F_DUPFD_CLOEXEC, first_inherited);
  if (own < 0) return -errno;
  // Both options belong to the socket, not to the descriptor: they also change for the manager's descriptor.
  const int flags = ::fcntl(own, F_GETFL);
  ::fcntl(own, F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  if (ask(own, SO_DOMAIN) != AF_UNIX) ::setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return own;
}

}  // namespace coracle::runtime_internal::kernel
