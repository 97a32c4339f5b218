// Connections that the program makes: server::adopt(), and net::stream::adopt() in a connector.
#include "coracle/client/connector.hpp"
#include "coracle/net/stream.hpp"
#include "support/certificates.hpp"
#include "support/echo_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

namespace coracle::testing_support::adopted_connection_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::array<int, 2> socket_pair(int type = SOCK_STREAM) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), 0);
  return ends;
}

class by_descriptor final : public connector {
 public:
  explicit by_descriptor(int descriptor) : descriptor_(descriptor) {}
  task<result<std::unique_ptr<net::byte_stream>>> connect() override {
    auto adopted = net::stream::adopt(std::exchange(descriptor_, -1));
    if (!adopted) co_return adopted.status();
    co_return net::to_byte_stream(*std::move(adopted));
  }
  [[nodiscard]] std::string authority() const override { return "localhost"; }

 private:
  int descriptor_;
};

class an_adopted_connection : public echo_fixture {
 protected:
  static task<status> ask(channel& c) {
    const echo::Text request = text("ahoy");
    const auto reply = co_await echo_stub(c).Say(request, within(20s));
    if (reply && reply->text() != "ahoy") co_return status::internal("another text");
    co_return reply.status();
  }
  // A server that listens nowhere.
  void serve_without_an_address() {
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, an_adopted_connection,
                         ::testing::Combine(kernel_kinds, ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(an_adopted_connection, CarriesCalls) {
  serve_without_an_address();
  const auto ends = socket_pair();
  EXPECT_EQ(server_->adopt(ends[0], insecure()), status());
  EXPECT_EQ(server_->port(), 0);
  EXPECT_TRUE(server_->addresses().empty());
  channel c(rt(), std::make_shared<by_descriptor>(ends[1]), insecure());
  EXPECT_EQ(run(ask(c)), status());
  EXPECT_EQ(run(ask(c)), status());
}

TEST_P(an_adopted_connection, EndsWithItsServer) {
  serve_without_an_address();
  const auto ends = socket_pair();
  EXPECT_EQ(server_->adopt(ends[0], insecure()), status());
  channel c(rt(), std::make_shared<by_descriptor>(ends[1]), insecure());
  EXPECT_EQ(run(ask(c)), status());
  server_.reset();
  const status ended = run(ask(c));
  EXPECT_EQ(ended.code(), status_code::unavailable) << ended;
}

TEST_P(an_adopted_connection, MayHaveTls) {
  serve_without_an_address();
  const auto ends = socket_pair();
  EXPECT_EQ(server_->adopt(ends[0], served_as("server")), status());
  channel c(rt(), std::make_shared<by_descriptor>(ends[1]), trusting("ca"));
  EXPECT_EQ(run(ask(c)), status());
}

TEST_P(an_adopted_connection, IsAConnectedStreamSocket) {
  const auto rejected = [&](int descriptor) { return server_->adopt(descriptor, insecure()).to_string(); };
  EXPECT_THAT(rejected(-1), HasSubstr("INVALID_ARGUMENT: descriptor -1 is not open"));
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_THAT(rejected(pipe[0]), HasSubstr("is not a TCP or UNIX stream socket"));
  const auto datagrams = socket_pair(SOCK_DGRAM);
  EXPECT_THAT(rejected(datagrams[0]), HasSubstr("is not a TCP or UNIX stream socket"));
  const int unconnected = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_THAT(rejected(unconnected), HasSubstr("is not connected"));
  // They stay the caller's.
  for (const int open : {pipe[0], pipe[1], datagrams[0], datagrams[1], unconnected})
    EXPECT_EQ(::close(open), 0);
}

TEST_P(an_adopted_connection, StaysTheProgramsAfterTheRuntime) {
  const auto ends = socket_pair();
  {
    auto other = std::make_unique<runtime>();
    server without(*other);
    other.reset();
    EXPECT_EQ(without.adopt(ends[0], insecure()).code(), status_code::unavailable);
  }
  for (const int open : ends) EXPECT_EQ(::close(open), 0);
}

class a_simulated_server : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, a_simulated_server,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(a_simulated_server, AdoptsNoConnections) {
  const auto ends = socket_pair();
  EXPECT_EQ(server_->adopt(ends[0], insecure()).code(), status_code::unimplemented);
  for (const int open : ends) EXPECT_EQ(::close(open), 0);
}

TEST_P(an_adopted_connection, HasNoAddressAndOthersHaveTheirs) {
  ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
  ASSERT_EQ(server_->listen("unix-abstract:coracle-adopted-" + std::to_string(getpid()), insecure()),
            status());
  const auto all = server_->addresses();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].port(), server_->port());
  EXPECT_NE(all[1].port(), 0);
  EXPECT_NE(all[1].port(), all[0].port());
  EXPECT_TRUE(all[2].is_unix());
  channel second(rt(), all[1].to_string(), insecure());
  EXPECT_EQ(run(ask(second)), status());
}

}  // namespace
}  // namespace coracle::testing_support::adopted_connection_test
