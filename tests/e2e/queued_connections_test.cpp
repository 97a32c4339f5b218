// Connections that have arrived in the kernel's queue when a server ends: they are served, not reset.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/raw_frames.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing_support::queued_connections_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
namespace frames = raw_frames;

constexpr std::size_t connections = 20;

// A client that has sent its request before it has heard of the server.
class impatient_client {
 public:
  explicit impatient_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    send(frames::greeting() + frames::head("/echo.Echo/SayAtOnce", 1) +
         frames::frame(frames::data, frames::end_stream, 1, "\0\0\0\0\0"s));
  }
  impatient_client(const impatient_client&) = delete;
  impatient_client& operator=(const impatient_client&) = delete;
  ~impatient_client() { ::close(socket_); }

  // Answers PINGs until the call has its response and the server has sent its last GOAWAY. Returns whether
  // that happened.
  bool gets_response() {
    bool answered = false;
    for (int goaways = 0; !answered || goaways < 2;) {
      std::string head;
      std::string payload;
      if (!receive(head, 9)) return false;
      const std::size_t bytes =
          static_cast<std::uint8_t>(head[1]) * 256u + static_cast<std::uint8_t>(head[2]);
      if (!receive(payload, bytes)) return false;
      if (head[3] == frames::ping && head[4] != frames::ack)
        send(frames::frame(frames::ping, frames::ack, 0, payload));
      if (head[3] == frames::headers && (head[4] & frames::end_stream)) answered = true;
      if (head[3] == frames::goaway) ++goaways;
    }
    return true;
  }

 private:
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  bool receive(std::string& into, std::size_t bytes) {
    into.resize(bytes);
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t n = ::recv(socket_, into.data() + at, bytes - at, 0);
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  const int socket_;
};

class queued_connections : public every_backend {
 protected:
  queued_connections() : every_backend(3) {}
};
INSTANTIATE_TEST_SUITE_P(On, queued_connections, kernel_kinds, queued_connections::case_name);

TEST_P(queued_connections, AreServedByAServerThatDrains) {
  echo_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  // The loops of the server have not run yet: connect() has put each connection into the queue.
  std::vector<std::unique_ptr<impatient_client>> clients;
  for (std::size_t i = 0; i < connections; ++i)
    clients.push_back(std::make_unique<impatient_client>(s.port()));
  std::array<bool, connections> answered{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < connections; ++i)
    threads.emplace_back([&, i] {
      answered.at(i) = clients[i]->gets_response();
      clients[i].reset();
    });
  s.stop();  // before the loop accepts
  run(s.drain(60s));
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < connections; ++i) EXPECT_TRUE(answered.at(i)) << "connection " << i;
}

// The listener comes while those before it close.
TEST_P(queued_connections, AListenerThatComesDuringADrainDoesNotKeepIt) {
  echo_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  const auto program = [](server& of) -> task<status> {
    scope listening{co_await coro::this_environment()};
    listening.spawn([](server& on) -> task<> {
      EXPECT_EQ(on.listen("127.0.0.1:0", insecure()), status());
      co_return;
    }(of));
    const status in_time = co_await with_timeout(20s, of.drain(1s));
    co_await listening.join();
    co_return in_time;
  };
  EXPECT_EQ(run(program(s)), status());
}

}  // namespace
}  // namespace coracle::testing_support::queued_connections_test
