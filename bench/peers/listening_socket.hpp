// listening_socket: the common start of the raw servers.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

// Listens on 127.0.0.1 and prints the port; ends the program on failure. Connections inherit TCP_NODELAY.
inline int listening_socket(const char* port, int flags) {
  const int s = ::socket(AF_INET, SOCK_STREAM | flags, 0);
  const int on = 1;
  ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  socklen_t size = sizeof at;
  auto* const plain = reinterpret_cast<sockaddr*>(&at);
  if (::bind(s, plain, size) != 0 || ::listen(s, 1024) != 0 || ::getsockname(s, plain, &size) != 0) {
    std::perror("cannot listen");
    std::exit(1);
  }
  std::printf("listening on 127.0.0.1:%u\n", unsigned{ntohs(at.sin_port)});
  std::fflush(stdout);
  return s;
}

}  // namespace bench
