#include "runtime/kernel/service_manager.hpp"

#include "runtime/kernel/packet_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace coracle::runtime_internal::kernel {

namespace {

const char* notify_path() noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  return path && *path ? path : nullptr;
}

}  // namespace

std::size_t descriptors_kept_max() noexcept {
  const char* const text = std::getenv("FDSTORE");
  if (!text || !notify_path()) return 0;
  std::size_t most = 0;
  const char* const end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, most);
  return error == std::errc() && read == end ? most : 0;
}

bool is_started_by_manager() noexcept {
  const char* const process_id = std::getenv("SYSTEMD_EXEC_PID");
  return !process_id || std::atoll(process_id) == ::getpid();
}

std::int64_t notify_service_manager(std::string_view message, int descriptor) noexcept {
  const char* const path = notify_path();
  if (!path) return 0;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) return -EINVAL;
  std::memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = '\0';
  const owned_descriptor s(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s.is_open()) return -errno;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&to), size) < 0) return -errno;
  return std::min<std::int64_t>(send_packet(s.get(), message, descriptor), 0);
}

}  // namespace coracle::runtime_internal::kernel
