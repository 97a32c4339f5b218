#include "runtime/kernel/service_manager.hpp"

#include "runtime/kernel/packet_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace coracle::runtime_internal::kernel {

std::int64_t notify_service_manager(std::string_view message) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (!path || !*path) return 0;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) return -EINVAL;
  std::memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = '\0';
  const owned_descriptor s(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s.is_open()) return -errno;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t n = ::sendto(s.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&to), size);
  return n < 0 ? -errno : 0;
}

}  // namespace coracle::runtime_internal::kernel
