// bench_echo_epoll PORT BUFSIZE: the lower bound of an echo over epoll: a wait, a receive, a send. One buffer
// for all connections; waits if the socket does not accept a reply at once.
#include "peers/listening_socket.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <vector>

namespace {

bool send_all(int to, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t n = ::send(to, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes += n;
      size -= n;
    } else if (errno == EAGAIN) {
      pollfd writable{to, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else {
      return false;
    }
  }
  return true;
}

bool echo(int peer, std::vector<char>& buffer) {
  const ssize_t n = ::recv(peer, buffer.data(), buffer.size(), 0);
  if (n <= 0) return n < 0 && errno == EAGAIN;
  return send_all(peer, buffer.data(), n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_echo_epoll PORT BUFSIZE\n", stderr);
    return 2;
  }
  std::vector<char> buffer(static_cast<std::size_t>(std::atol(argv[2])));
  const int listener = bench::listening_socket(argv[1], SOCK_NONBLOCK);
  const int queue = ::epoll_create1(0);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = listener;
  ::epoll_ctl(queue, EPOLL_CTL_ADD, listener, &wanted);
  std::array<epoll_event, 256> ready{};
  while (true) {
    const int n = ::epoll_wait(queue, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      if (fd != listener) {
        if (!echo(fd, buffer)) ::close(fd);
        continue;
      }
      const int peer = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      if (peer < 0) continue;
      wanted.data.fd = peer;
      ::epoll_ctl(queue, EPOLL_CTL_ADD, peer, &wanted);
    }
  }
}
