// Idle state takes almost no memory: the server's heap for idle connections and open streams, in bytes, which
// are the same on each machine and in each run.
#include "support/allocation_counter.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::connection_memory_test {
namespace {

using namespace std::literals;

int connected(std::uint16_t port) {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{20, 0};
  ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  EXPECT_EQ(::connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return made;
}

// A minimal client, whose own memory is not on the server's thread.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : socket_(connected(port)) {
    send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, {}) + frame(settings, ack, 0, {}));
    expect(settings, ack);
  }
  raw_client(raw_client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), unread_(std::move(other.unread_)) {}
  ~raw_client() {
    if (socket_ >= 0) ::close(socket_);
  }

  // A call with one message, and its end if `last`.
  void ask(std::string_view path, std::uint32_t stream, bool last, std::string_view message = "\x0a\1x") {
    std::string block;
    const std::pair<std::string_view, std::string_view> fields[] = {
        {":method", "POST"}, {":scheme", "http"}, {":path", path},
        {":authority", "h"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    for (const auto& [name, value] : fields)
      block.append(1, '\0')
          .append(1, char(name.size()))
          .append(name)
          .append(1, char(value.size()))
          .append(value);
    std::string framed(4, '\0');
    framed.append(1, char(message.size())).append(message);
    send(frame(headers, end_headers, stream, block) + frame(data, last ? end_stream : 0, stream, framed));
  }
  void expect_message() { expect(data, 0); }
  void expect_end() { expect(headers, end_headers | end_stream); }

 private:
  enum type : char { data = 0, headers = 1, settings = 4 };
  static constexpr char ack = 1, end_stream = 1, end_headers = 4;

  static std::string frame(type t, char flags, std::uint32_t stream, std::string_view payload) {
    const std::string_view zero("\0\0", 2);
    std::string f;
    f.append(zero).append(1, char(payload.size())).append(1, t).append(1, flags);
    return f.append(zero).append(1, char(stream >> 8)).append(1, char(stream & 0xff)).append(payload);
  }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Reads up to the next frame of this kind.
  void expect(type t, char flags) {
    for (;;) {
      while (unread_.size() >= 9) {
        const std::size_t whole = 9u + static_cast<std::uint8_t>(unread_[2]);
        if (unread_.size() < whole) break;
        const bool found = unread_[3] == t && unread_[4] == flags;
        unread_.erase(0, whole);
        if (found) return;
      }
      char more[512];
      // A ring that this thread had before may interrupt it while the kernel tears the ring down.
      ssize_t n = -1;
      while ((n = ::recv(socket_, more, sizeof more, 0)) < 0 && errno == EINTR) {
      }
      ASSERT_GT(n, 0) << "the server has gone, or says nothing: " << std::strerror(errno);
      unread_.append(more, static_cast<std::size_t>(n));
    }
  }

  int socket_;
  std::string unread_;
};

// A client of HTTP/1.1.
class http1_client {
 public:
  explicit http1_client(std::uint16_t port) : socket_(connected(port)) {}
  http1_client(http1_client&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  ~http1_client() {
    if (socket_ >= 0) ::close(socket_);
  }
  void send(std::string_view text) {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  void expect(std::string_view end) {
    std::string got;
    char more[512];
    while (!got.ends_with(end)) {
      const ssize_t n = ::recv(socket_, more, sizeof more, 0);
      if (n < 0 && errno == EINTR) continue;
      ASSERT_GT(n, 0) << "the server has gone, or says nothing: " << std::strerror(errno);
      got.append(more, static_cast<std::size_t>(n));
    }
  }

 private:
  int socket_;
};

class weight : public ::testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_options options;
    options.memory = quota_;
    server_.emplace(*world_.get(), options);
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    world_.get()->start();  // nothing else runs the loop while a client waits
  }
  // Of the server's only loop.
  std::int64_t heap_bytes() { return sync_wait(*world_.get(), world_.get()->at(0), read_heap_bytes()); }
  static task<std::int64_t> read_heap_bytes() { co_return test::allocated_bytes; }
  raw_client connect() { return raw_client(server_->port()); }

  // Until each of `count` objects created since `before` takes no more memory, or the time is over: idle
  // connections release their buffers after a second.
  std::int64_t weight_of_each(std::int64_t before, std::int64_t count, std::int64_t max_bytes) {
    std::int64_t each = 0;
    for (int i = 0; i < 400; ++i) {
      each = (heap_bytes() - before) / count;
      if (each <= max_bytes) break;
      // sleeps on purpose: the server does not announce that a connection rests
      std::this_thread::sleep_for(50ms);
    }
    RecordProperty("bytes", std::to_string(each));
    return each;
  }

  any_world world_{GetParam()};
  const memory_quota quota_{std::size_t{1} << 30};
  echo_service service_;
  std::optional<server> server_;
};
INSTANTIATE_TEST_SUITE_P(On, weight, kernel_kinds, every_backend::case_name);

constexpr int held = 200;
constexpr std::int64_t connection_bytes_max = 2'560;
constexpr std::int64_t stream_bytes_max = 1'792;
constexpr std::int64_t http1_connection_bytes_max = 3'840;
constexpr std::int64_t excess_counted_bytes_max = 6'144;
constexpr std::string_view say =
    "POST /echo.Echo/Say HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/proto\r\n"
    "content-length: 3\r\n\r\n\x0a\1x";

TEST_P(weight, AnIdleConnectionIsLight) {
  std::vector<raw_client> all;
  for (int i = 0; i < 4; ++i) all.push_back(connect());
  const std::int64_t before = heap_bytes();
  for (int i = 0; i < held; ++i) all.push_back(connect());
  EXPECT_LE(weight_of_each(before, held, connection_bytes_max), connection_bytes_max);
}

TEST_P(weight, AConnectionIsAsLightAgainSomeTimeAfterItsCalls) {
  constexpr std::int64_t asked_for_its_peer_bytes = 80;
  constexpr std::int64_t most = connection_bytes_max + asked_for_its_peer_bytes;
  std::vector<raw_client> all;
  for (int i = 0; i < 4; ++i) all.push_back(connect());
  all.front().ask("/echo.Echo/Say", 1, true);
  all.front().expect_end();
  const std::int64_t before = heap_bytes();
  for (int i = 0; i < held; ++i) {
    all.push_back(connect());
    for (const std::uint32_t stream : {1u, 3u, 5u}) all.back().ask("/echo.Echo/Say", stream, true);
    for (int n = 0; n < 3; ++n) all.back().expect_end();
  }
  EXPECT_LE(weight_of_each(before, held, most), most);
}

class weight_of_http1 : public weight {
 protected:
  // Of connections on which `sent` was sent, and answered if it is a whole request.
  void expect_light(std::string_view sent) {
    std::vector<http1_client> all;
    const auto add = [&] {
      all.emplace_back(server_->port());
      all.back().send(sent);
      if (sent == say) all.back().expect("\x0a\1x");
    };
    for (int i = 0; i < 4; ++i) add();
    const std::int64_t before = heap_bytes();
    const std::size_t counted_before = quota_.used_bytes();
    for (int i = 0; i < held; ++i) add();
    const std::int64_t each = weight_of_each(before, held, http1_connection_bytes_max);
    EXPECT_LE(each, http1_connection_bytes_max);
    const auto counted = static_cast<std::int64_t>((quota_.used_bytes() - counted_before) / held);
    EXPECT_GE(counted, each) << "the quota counts less than a connection takes";
    EXPECT_LE(counted, each + excess_counted_bytes_max);
  }
};
INSTANTIATE_TEST_SUITE_P(On, weight_of_http1, kernel_kinds, every_backend::case_name);

TEST_P(weight_of_http1, AConnectionThatWaitsForItsNextRequestIsLight) { expect_light(say); }

TEST_P(weight_of_http1, AConnectionThatWaitsForTheRestOfItsHeadersIsLight) {
  expect_light(say.substr(0, 50));
}

TEST_P(weight, AnOpenStreamIsLight) {
  raw_client first = connect();
  first.ask("/echo.Echo/Chat", 1, false);
  first.expect_message();
  const std::int64_t before = heap_bytes();
  raw_client client = connect();
  for (int i = 0; i < held; ++i) {
    client.ask("/echo.Echo/Chat", static_cast<std::uint32_t>(2 * i + 1), false);
    client.expect_message();
  }
  EXPECT_LE(weight_of_each(before, held, stream_bytes_max), stream_bytes_max);
}

// Each has 120 empty unknown strings: an object for every two bytes.
TEST_P(weight, SmallMessagesCountWhereThousandsAreHeld) {
  std::string wide;
  for (int i = 0; i < 120; ++i) wide.append("\x1a\0"sv);
  raw_client clients[] = {connect(), connect(), connect()};
  const auto hold = [](raw_client& by, int count, std::string_view message) {
    for (int i = 0; i < count; ++i) {
      by.ask("/echo.Echo/Chat", static_cast<std::uint32_t>(2 * i + 1), false, message);
      by.expect_message();
    }
  };
  hold(clients[0], 600, "\x0a\1x");
  hold(clients[1], 600, "\x0a\1x");
  const std::int64_t before = heap_bytes();
  const std::size_t counted_before = quota_.used_bytes();
  hold(clients[2], held, wide);
  const std::int64_t each = (heap_bytes() - before) / held;
  const auto counted = static_cast<std::int64_t>((quota_.used_bytes() - counted_before) / held);
  // An estimate omits the spare capacity, and the heap's own overhead.
  EXPECT_GE(counted, each * 2 / 3);
  EXPECT_LE(counted, each * 3 / 2);
}

}  // namespace
}  // namespace coracle::testing_support::connection_memory_test
