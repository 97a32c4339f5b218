// name_server: a real DNS server on a thread of its own, over UDP and TCP, that answers as the test
// configures it.
#pragma once

#include "unit/net/name_server_zone.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::net {

// The zone is complete before the server starts; the destructor joins the thread.
class name_server {
 public:
  explicit name_server(name_zone::entries names) : zone_(std::move(names)) {
    // TCP first: a port that is free for TCP is usually free for UDP, too.
    do {
      close_sockets();
      tcp_ = bound(SOCK_STREAM, 0);
      port_ = port_of(tcp_);
      udp_ = bound(SOCK_DGRAM, port_);
    } while (udp_ < 0);
    EXPECT_EQ(::listen(tcp_, 16), 0);
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { serve(); });
  }
  name_server(const name_server&) = delete;
  name_server& operator=(const name_server&) = delete;
  ~name_server() {
    leaving_.store(true);
    wake();
    thread_.join();
    close_sockets();
    ::close(wake_);
  }

  [[nodiscard]] std::string where() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int datagrams() const noexcept { return datagrams_.load(); }
  [[nodiscard]] int connections() const noexcept { return connections_.load(); }
  // Sends the answers that it has held back, and holds none back any more.
  void release() {
    released_.store(true);
    wake();
  }

 private:
  struct held_question {
    sockaddr_in from;
    std::string text;
  };
  static int bound(int type, std::uint16_t port) {
    const int s = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    const sockaddr_in at = loopback(port);
    if (::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return s;
    ::close(s);
    return -1;
  }
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }
  static std::uint16_t port_of(int s) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  void close_sockets() {
    for (int* s : {&udp_, &tcp_})
      if (*s >= 0) ::close(std::exchange(*s, -1));
  }
  void wake() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(wake_, &one, sizeof one), 8);
  }

  void serve() {
    while (!leaving_.load()) {
      pollfd all[] = {{wake_, POLLIN, 0}, {udp_, POLLIN, 0}, {tcp_, POLLIN, 0}};
      if (::poll(all, 3, -1) < 0) continue;
      if (all[0].revents) {
        std::uint64_t ignored = 0;
        EXPECT_EQ(::read(wake_, &ignored, sizeof ignored), 8);
      }
      if (released_.load())
        for (const held_question& q : std::exchange(held_, {})) reply(q);
      if (all[1].revents) take_datagram();
      if (all[2].revents) take_connection();
    }
  }
  void take_datagram() {
    held_question q{{}, std::string(4096, '\0')};
    socklen_t size = sizeof q.from;
    const ssize_t n =
        ::recvfrom(udp_, q.text.data(), q.text.size(), 0, reinterpret_cast<sockaddr*>(&q.from), &size);
    if (n <= 0) return;
    q.text.resize(static_cast<std::size_t>(n));
    ++datagrams_;  // before the reply, since the receiver of the reply may read it
    if (zone_.holds_back(q.text) && !released_.load()) held_.push_back(q);
    else reply(q);
  }
  void reply(const held_question& q) const {
    const std::string answer = zone_.answer(q.text, false);
    if (answer.empty()) return;
    ::sendto(udp_, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&q.from),
             sizeof q.from);
  }
  // One after the other, each until its client has closed it, which suffices for tests.
  void take_connection() {
    const int s = ::accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
    ++connections_;
    for (std::string question; !(question = framed(s)).empty();) {
      const std::string answer = zone_.answer(question, true);
      std::string frame{static_cast<char>(answer.size() >> 8), static_cast<char>(answer.size() & 0xff)};
      frame += answer;
      for (const char byte : frame)  // a byte at a time: readers must put them together
        if (::send(s, &byte, 1, MSG_NOSIGNAL) != 1) break;
    }
    ::close(s);
  }
  static std::string framed(int s) {
    const std::string size = exactly(s, 2);
    if (size.empty()) return "";
    return exactly(s, static_cast<std::size_t>(static_cast<unsigned char>(size[0]) << 8 |
                                               static_cast<unsigned char>(size[1])));
  }
  static std::string exactly(int s, std::size_t n) {
    std::string text(n, '\0');
    return ::recv(s, text.data(), n, MSG_WAITALL) == static_cast<ssize_t>(n) ? text : "";
  }

  const name_zone zone_;
  int udp_ = -1;
  int tcp_ = -1;
  int wake_ = -1;
  std::uint16_t port_ = 0;
  std::vector<held_question> held_;
  std::atomic<bool> released_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<int> datagrams_{0};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

}  // namespace coracle::net
