// bench_echo_load PORT CONNECTIONS SIZE SECONDS: a closed loop of echo requests over plain sockets.
// Each connection has one request of SIZE bytes in flight; every reply is compared byte by byte.
//
// Once every connection has had a first reply it prints "ready" and waits for a line on its input, so that
// the caller can measure the CPU time of the server without connecting; after SECONDS it prints one line of
// JSON, and closes when its input ends. Requests that began in time are awaited for a limited time: a missing
// reply then counts as lost.
#include "e2e/latency_histogram.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
constexpr std::chrono::seconds patience(5);  // for the last replies

[[noreturn]] void fail(const char* text) {
  std::fprintf(stderr, "bench_echo_load: %s: %s\n", text, errno ? std::strerror(errno) : "wrong");
  std::exit(1);
}

struct connection {
  int socket = -1;
  std::uint64_t requests = 0;
  std::size_t sent = 0;  // of the present request
  std::size_t received = 0;
  bool waiting = false;
  clock_type::time_point began;
};

class load {
 public:
  load(std::uint16_t port, std::size_t connections, std::size_t size)
      : queue_(::epoll_create1(0)), request_(size), reply_(size), connections_(connections) {
    for (std::size_t i = 0; i < size; ++i) request_[i] = static_cast<std::uint8_t>(i * 31 + 7);
    for (std::size_t i = 0; i < connections; ++i) open(i, port);
  }

  void first_replies() {
    for (connection& c : connections_) begin(c);
    while (waiting_ > 0) turn(1000, false);
    for (connection& c : connections_) c.requests = 0;
    latencies_ = {};
  }

  void run(std::chrono::nanoseconds length) {
    const clock_type::time_point start = clock_type::now();
    for (connection& c : connections_) begin(c);
    while (clock_type::now() - start < length) turn(100, true);
    elapsed_ = clock_type::now() - start;
    for (const connection& c : connections_) in_time_ += c.requests;
    while (waiting_ > 0 && clock_type::now() - start < length + patience) turn(100, false);
    until_last_ = clock_type::now() - start;
  }

  void print() const {
    const auto by_requests = [](const connection& a, const connection& b) { return a.requests < b.requests; };
    const auto [least, most] = std::minmax_element(connections_.begin(), connections_.end(), by_requests);
    std::uint64_t all = 0;
    for (const connection& c : connections_) all += c.requests;
    const auto seconds = [](auto d) { return std::chrono::duration<double>(d).count(); };
    std::printf(
        "{\"requests\": %llu, \"requests_per_second\": %.1f, \"seconds\": %.4f, \"seconds_to_last\": %.4f, "
        "\"lost\": %llu, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, "
        "\"least_per_connection\": %llu, \"most_per_connection\": %llu}\n",
        static_cast<unsigned long long>(all), static_cast<double>(in_time_) / seconds(elapsed_),
        seconds(elapsed_), seconds(until_last_), static_cast<unsigned long long>(waiting_),
        latencies_.quantile_us(0.5), latencies_.quantile_us(0.99), latencies_.quantile_us(1),
        static_cast<unsigned long long>(least->requests), static_cast<unsigned long long>(most->requests));
    std::fflush(stdout);
  }

 private:
  void open(std::size_t i, std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    const int s = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLOUT | EPOLLET;
    wanted.data.u64 = i;
    ::epoll_ctl(queue_, EPOLL_CTL_ADD, s, &wanted);
    connections_[i].socket = s;
  }

  void begin(connection& c) {
    c.sent = c.received = 0;
    c.waiting = true;
    ++waiting_;
    c.began = clock_type::now();
    send(c);
  }

  void send(connection& c) {
    while (c.sent < request_.size()) {
      const ssize_t n =
          ::send(c.socket, request_.data() + c.sent, request_.size() - c.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) fail("send");
      c.sent += static_cast<std::size_t>(n);
    }
  }

  void receive(connection& c, bool go_on) {
    while (c.waiting) {
      const std::size_t room = reply_.size() - c.received;
      const ssize_t n = ::recv(c.socket, reply_.data(), room, MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) fail("the server closed a connection");
      if (std::memcmp(reply_.data(), request_.data() + c.received, static_cast<std::size_t>(n)) != 0)
        errno = 0, fail("a reply's bytes");
      c.received += static_cast<std::size_t>(n);
      if (c.received < request_.size()) {
        if (static_cast<std::size_t>(n) < room) return;  // drained: an edge says when there is more
        continue;
      }
      c.waiting = false;
      --waiting_;
      ++c.requests;
      latencies_.add(clock_type::now() - c.began);
      if (go_on) begin(c);
      return;
    }
  }

  void turn(int milliseconds, bool go_on) {
    std::array<epoll_event, 256> ready{};
    const int n = ::epoll_wait(queue_, ready.data(), static_cast<int>(ready.size()), milliseconds);
    for (int i = 0; i < n; ++i) {
      connection& c = connections_[ready[static_cast<std::size_t>(i)].data.u64];
      if (c.waiting) send(c);
      receive(c, go_on);
    }
  }

  int queue_;
  std::vector<std::uint8_t> request_;
  std::vector<std::uint8_t> reply_;
  std::vector<connection> connections_;
  std::uint64_t waiting_ = 0;
  std::uint64_t in_time_ = 0;
  std::chrono::nanoseconds elapsed_{};
  std::chrono::nanoseconds until_last_{};
  latency_histogram latencies_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: bench_echo_load PORT CONNECTIONS SIZE SECONDS\n", stderr);
    return 2;
  }
  load work(static_cast<std::uint16_t>(std::atoi(argv[1])), static_cast<std::size_t>(std::atol(argv[2])),
            static_cast<std::size_t>(std::atol(argv[3])));
  work.first_replies();
  std::puts("ready");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  work.run(std::chrono::nanoseconds(static_cast<std::int64_t>(std::atof(argv[4]) * 1e9)));
  work.print();
  std::getline(std::cin, line);
  return 0;
}
