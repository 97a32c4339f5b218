// Sockets of the operating system, for the exercises from 5 on. They never block.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace lab {

[[noreturn]] inline void throw_errno(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}
inline int checked(int outcome, const char* call) {
  if (outcome < 0) throw_errno(call);
  return outcome;
}

// Owns a descriptor.
class descriptor {
 public:
  explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

inline sockaddr_in loopback(std::uint16_t port) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Listens on a free port of 127.0.0.1.
inline descriptor listen_on_loopback() {
  descriptor listener(checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in address = loopback(0);
  checked(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  checked(::listen(listener.get(), 16), "listen");
  return listener;
}

inline std::uint16_t port_of(const descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  checked(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  return ntohs(address.sin_port);
}

// Connects to a port of 127.0.0.1. The kernel accepts on behalf of the listener, so this does not wait for its program.
inline descriptor connect_to(std::uint16_t port) {
  descriptor connection(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  const sockaddr_in address = loopback(port);
  checked(::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
          "connect");
  // From here on nothing blocks.
  int on = 1;
  checked(::ioctl(connection.get(), FIONBIO, &on), "ioctl");
  return connection;
}

// Two ends of one connection.
inline std::pair<descriptor, descriptor> connected_pair() {
  int ends[2];
  checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), "socketpair");
  return {descriptor(ends[0]), descriptor(ends[1])};
}

}  // namespace lab
