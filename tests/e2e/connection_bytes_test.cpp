// The bytes that a channel's connections carry, against those that pass through a stream of the test's.
#include "coracle/client/connection_bytes.hpp"
#include "coracle/client/connector.hpp"
#include "coracle/net/stream.hpp"
#include "support/echo_fixture.hpp"

#include <memory>
#include <string>
#include <utility>

namespace coracle::testing_support::connection_bytes_test {
namespace {

using namespace std::chrono_literals;

class metered_stream final : public net::byte_stream {
 public:
  metered_stream(net::stream s, connection_bytes& passed) noexcept : inner_(std::move(s)), passed_(passed) {}
  task<result<std::size_t>> read(mutable_bytes into) override {
    const result<std::size_t> n = co_await inner_.read(into);
    if (n) passed_.received += *n;
    co_return n;
  }
  task<status> write(bytes_view bytes) override {
    passed_.sent += bytes.size();
    co_return co_await inner_.write(bytes);
  }
  task<status> shutdown_send() override {
    inner_.shutdown_send();
    co_return status();
  }
  void close(bool abort) noexcept override { inner_.close(abort); }

 private:
  net::stream inner_;
  connection_bytes& passed_;
};

class metered_connector final : public connector {
 public:
  explicit metered_connector(net::address to) : to_(std::move(to)) {}
  task<result<std::unique_ptr<net::byte_stream>>> connect() override {
    result<net::stream> made = co_await net::stream::connect(to_);
    if (!made) co_return made.status();
    co_return std::make_unique<metered_stream>(*std::move(made), passed);
  }
  [[nodiscard]] std::string authority() const override { return "localhost:1"; }
  connection_bytes passed;  // over all connections

 private:
  const net::address to_;
};

class bytes_of_a_channel : public echo_fixture {
 protected:
  static task<> say(const channel& c, std::size_t size) {
    const echo::Text request = text(std::string(size, 'x'));
    const auto reply = co_await echo_stub(c).Say(request, within(20s));
    EXPECT_EQ(reply.status(), status());
  }
  static task<> call_twice(bytes_of_a_channel& test) {
    const auto by = std::make_shared<metered_connector>(*net::address::parse(test.address_));
    const channel c(test.rt(), by);
    EXPECT_EQ(bytes_of_connections(c).sent, 0u);
    for (int call = 0; call < 2; ++call) {
      const connection_bytes before = bytes_of_connections(c);
      co_await say(c, 5000);
      const connection_bytes after = bytes_of_connections(c);
      EXPECT_GT(after.sent - before.sent, 5000u + 9 + 5) << "the message, a frame's header, a prefix";
      EXPECT_GT(after.received - before.received, 5000u + 9 + 5);
      EXPECT_LT(after.sent - before.sent, 5500u);
      EXPECT_EQ(after.sent, by->passed.sent);
      EXPECT_EQ(after.received, by->passed.received);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, bytes_of_a_channel, every_world_over_tcp, echo_fixture::case_name);

TEST_P(bytes_of_a_channel, AreThoseOfItsStreams) { run(call_twice(*this)); }

TEST_P(bytes_of_a_channel, AreZeroOutsideOfItsLoops) {
  run(say(*channel_, 10));
  EXPECT_EQ(bytes_of_connections(*channel_).sent, 0u);
}

}  // namespace
}  // namespace coracle::testing_support::connection_bytes_test
