#include "runtime/kernel/packet_socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace coracle::runtime_internal::kernel {

namespace {

constexpr int waiting_max = 8;

std::int64_t packet_stream() noexcept {
  const int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return s < 0 ? -errno : s;
}

bool name_of_path(const std::string& path, sockaddr_un& out) noexcept {
  out = {};
  out.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.sun_path) return false;
  std::memcpy(out.sun_path, path.data(), path.size());
  return true;
}

std::int64_t closed_with_error(int descriptor) noexcept {
  const int error = errno;
  ::close(descriptor);
  return -error;
}

// Room for two, so that a sender of more is noticed.
struct alignas(cmsghdr) descriptor_room {
  char bytes[CMSG_SPACE(2 * sizeof(int))];
};

// The kernel has opened them already.
std::size_t take_descriptors(msghdr& message, owned_descriptor& first) noexcept {
  std::size_t count = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(c) + i * sizeof(int), sizeof descriptor);
      owned_descriptor taken(descriptor);
      if (count++ == 0) first = std::move(taken);
    }
  }
  return count;
}

}  // namespace

owned_descriptor& owned_descriptor::operator=(owned_descriptor&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = other.release();
  return *this;
}

owned_descriptor::~owned_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int owned_descriptor::release() noexcept { return std::exchange(descriptor_, -1); }

owned_descriptor duplicate(int descriptor) noexcept {
  return owned_descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

void end_listening(int descriptor) noexcept { ::shutdown(descriptor, SHUT_RDWR); }

bool serves_ipv4_as(int descriptor, bool only_ipv6) noexcept {
  sockaddr_in6 local{};
  socklen_t size = sizeof local;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &size) < 0) return true;
  if (local.sin6_family != AF_INET6 || !IN6_IS_ADDR_UNSPECIFIED(&local.sin6_addr)) return true;
  int is_only = 0;
  size = sizeof is_only;
  return ::getsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &is_only, &size) < 0 ||
         (is_only != 0) == only_ipv6;
}

std::int64_t listen_for_packets(const std::string& path) noexcept {
  sockaddr_un at;
  if (!name_of_path(path, at)) return -ENAMETOOLONG;
  const std::int64_t opened = packet_stream();
  if (opened < 0) return opened;
  const int s = static_cast<int>(opened);
  if (::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) < 0) return closed_with_error(s);
  // No process can connect before listen().
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) < 0 || ::listen(s, waiting_max) < 0) {
    const std::int64_t error = closed_with_error(s);
    ::unlink(path.c_str());
    return error;
  }
  return s;
}

std::int64_t connect_for_packets(const std::string& path) noexcept {
  sockaddr_un at;
  if (!name_of_path(path, at)) return -ENAMETOOLONG;
  const std::int64_t opened = packet_stream();
  if (opened < 0) return opened;
  const int s = static_cast<int>(opened);
  if (::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) < 0) return closed_with_error(s);
  return s;
}

std::int64_t accept_packets(int listener) noexcept {
  const int s = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  return s < 0 ? -errno : s;
}

std::int64_t send_packet(int on, std::string_view text, int descriptor) noexcept {
  iovec piece{const_cast<char*>(text.data()), text.size()};
  descriptor_room room{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  for (;;) {
    const ssize_t n = ::sendmsg(on, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t receive_packet(int from, packet& into) {
  std::string text(packet_bytes_max, '\0');
  iovec piece{text.data(), text.size()};
  descriptor_room room{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes;
  message.msg_controllen = sizeof room.bytes;
  ssize_t n = 0;
  do n = ::recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return -errno;
  owned_descriptor first;
  const std::size_t descriptors = take_descriptors(message, first);
  if (descriptors > 1 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return -EMSGSIZE;
  text.resize(static_cast<std::size_t>(n));
  into.text = std::move(text);
  into.descriptor = std::move(first);
  return n;
}

std::int64_t wait_for_packet(int from, duration timeout) noexcept {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(timeout, duration::zero()));
  pollfd p{from, POLLIN, 0};
  for (;;) {
    const int n = ::poll(&p, 1, static_cast<int>(ms.count()));
    if (n > 0) return 0;
    if (n == 0) return -ETIMEDOUT;
    if (errno != EINTR) return -errno;
  }
}

std::optional<peer_process> peer_of(int connection) noexcept {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &found, &size) < 0) return {};
  return peer_process{found.pid, found.uid};
}

bool is_trusted(const peer_process& peer) noexcept {
  return peer.user_id == 0 || peer.user_id == ::geteuid();
}

std::int64_t remove_socket_file(const std::string& path) noexcept {
  struct stat found{};
  if (::lstat(path.c_str(), &found) < 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(found.st_mode)) return -ENOTSOCK;
  return ::unlink(path.c_str()) < 0 && errno != ENOENT ? -errno : 0;
}

std::int64_t take_lock(const std::string& path) noexcept {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (file < 0) return -errno;
  if (::flock(file, LOCK_EX | LOCK_NB) < 0) return closed_with_error(file);
  // For people who look for the holder; the lock does not depend on it.
  if (::ftruncate(file, 0) == 0) ::dprintf(file, "%ld\n", static_cast<long>(::getpid()));
  return file;
}

std::int64_t lock_holder(const std::string& path) noexcept {
  const owned_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[24] = {};
  if (!file.is_open() || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
  return std::strtoll(text, nullptr, 10);
}

}  // namespace coracle::runtime_internal::kernel
