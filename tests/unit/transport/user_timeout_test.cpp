// TCP_USER_TIMEOUT is set with keepalive (gRFC A18): read back from the socket under a connection.
#include "transport/exchange.hpp"

#include "coracle/coro/event.hpp"
#include "net/acceptor.hpp"
#include "net/connect.hpp"
#include "net/socket_duplex.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <memory>
#include <optional>
#include <string>

namespace coracle::transport::user_timeout_test {
namespace {

using namespace std::chrono_literals;

struct keeper final : connection_owner, request_acceptor {
  std::unique_ptr<connection> kept;
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange x, header_source&, bool) noexcept override { x.release(); }
};

class taken_handle final : public net::acceptor_sink {
 public:
  event<> changed;
  runtime_internal::handle handle = runtime_internal::no_handle;

 private:
  void accepted(runtime_internal::handle connection) noexcept override {
    handle = connection;
    changed.set();
  }
  void accept_failed(status reason) noexcept override { ADD_FAILURE() << reason; }
  void closed() noexcept override { changed.set(); }
};

// Nothing if the socket is not a TCP socket.
std::optional<int> user_timeout_ms(runtime_internal::handle h) {
  int ms = -1;
  socklen_t size = sizeof ms;
  if (::getsockopt(h, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size) < 0) return std::nullopt;
  return ms;
}

// Returns the options of both sockets when a client with keepalive `asking` has connected to a server without
// keepalive.
struct both {
  std::optional<int> client;
  std::optional<int> server;
};
task<both> timeouts(net::address at, http2::keepalive_options asking) {
  loop& here = *loop::current();
  taken_handle taken;
  const auto listening = net::acceptor::open(here, at).value();
  listening->start(taken);
  const runtime_internal::handle ours =
      (co_await net::connect_socket(here, listening->local_address())).value();
  co_await taken.changed;
  taken.changed.reset();
  listening->close();
  co_await taken.changed;
  keeper client;
  keeper server;
  connection_options options;
  server.kept = std::make_unique<connection>(here, net::make_socket_duplex(here, taken.handle), role::server,
                                             options, server, &server);
  options.http2.keepalive = asking;
  client.kept = std::make_unique<connection>(here, net::make_socket_duplex(here, ours), role::client, options,
                                             client, nullptr);
  both found;
  found.client = user_timeout_ms(ours);
  found.server = user_timeout_ms(taken.handle);
  co_return found;
}

class user_timeout : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, user_timeout, testing_support::kernel_kinds, user_timeout::case_name);

TEST_P(user_timeout, IsThatOfKeepaliveAndTheKernelsOwnWithoutIt) {
  const both found = run(timeouts(net::address::loopback_v4(0), {10s, 7s, false}));
  EXPECT_EQ(found.client, 7000);
  EXPECT_EQ(found.server, 0);
}

TEST_P(user_timeout, OfAPartOfAMillisecondIsNotTheKernelsOwn) {
  EXPECT_EQ(run(timeouts(net::address::loopback_v4(0), {10s, 1us, false})).client, 1);
}

TEST_P(user_timeout, OfAUnixSocketIsNoneAndHarmless) {
  std::string name = "coracle-user-timeout-";
  name.append(std::to_string(getpid()));
  EXPECT_EQ(run(timeouts(net::address::abstract(name).value(), {10s, 7s, false})).client, std::nullopt);
}

}  // namespace
}  // namespace coracle::transport::user_timeout_test
