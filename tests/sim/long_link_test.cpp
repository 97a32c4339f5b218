// One stream over a link with a round trip of 20 ms: it achieves the throughput of TCP.
#include "support/echo_service.hpp"

#include "coracle/net/connect.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::long_link_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t piece_bytes = 64u << 10;
constexpr duration warm_up = 1s;
constexpr duration measured = 1s;

// A megabyte every 10 ms in one direction: 840 Mbit/s.
sim::world_options long_link() { return sim::world_options{.latency = 10ms, .socket_buffer = 1u << 20}; }

// Counts what arrives after the warm-up, for the given time.
struct meter {
  explicit meter(time_point now) : from(now + warm_up), until(from + measured) {}
  bool add(std::size_t bytes) {
    const time_point now = loop::current()->now();
    if (now >= from && now < until) counted += bytes;
    return now < until;
  }
  time_point from;
  time_point until;
  std::size_t counted = 0;
};

struct counting_service final : echo_service {
  explicit counting_service(meter& m) : seen(m) {}
  reply<echo::Text> Collect(server_context&, reader<echo::Text> texts) override {
    echo::Text one;
    while (co_await texts.read(one)) seen.add(one.text().size());
    co_return echo::Text();
  }
  meter& seen;
};

struct program {
  static task<> tcp_sink(meter& m) {
    net::listener at = net::listener::open(net::address::parse("0.0.0.0:7").value()).value();
    net::stream from = (co_await at.accept()).value();
    std::vector<std::uint8_t> room(256u << 10);
    for (;;) {
      const auto n = co_await from.read(room);
      if (!n.ok() || *n == 0) co_return;
      m.add(*n);
    }
  }
  static task<> tcp_source(std::string to, const meter& m) {
    net::stream out = (co_await net::connect(to, 7)).value();
    const std::vector<std::uint8_t> bytes(piece_bytes);
    while (loop::current()->now() < m.until) EXPECT_EQ(co_await out.write(bytes), status());
  }
  static task<> download(echo_stub s, meter& m) {
    echo::Text request;
    request.set_text(std::string(piece_bytes, 'x'));
    request.set_count(1 << 30);
    auto call = s.Repeat(request);
    echo::Text one;
    while ((co_await call.read(one)).value() && m.add(one.text().size())) continue;
  }
  static task<> upload(echo_stub s, const meter& m) {
    echo::Text piece;
    piece.set_text(std::string(piece_bytes, 'x'));
    auto call = s.Collect();
    while (loop::current()->now() < m.until) (co_await call.write(piece)).throw_if_error();
    const auto end = co_await call.finish();
    EXPECT_EQ(end.status(), status());
  }
};

std::size_t tcp_bytes() {
  std::optional<meter> m;  // until the world, and the sink with it, has ended
  sim::world world(1, long_link());
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  m.emplace(world.now());
  server_host.spawn(program::tcp_sink(*m));
  sync_wait(client_host, program::tcp_source(world.address_of("server"), *m));
  return m->counted;
}

std::size_t stream_bytes(bool up) {
  sim::world world(1, long_link());
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  meter m(world.now());
  counting_service service(m);
  server srv(server_host);
  srv.add(service);
  EXPECT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
  channel c(client_host, world.address_of("server") + ":50051", insecure());
  if (up) sync_wait(client_host, program::upload(echo_stub(c), m));
  else sync_wait(client_host, program::download(echo_stub(c), m));
  return m.counted;
}

TEST(ALinkOf20Ms, IsFilledByOneStreamEitherWay) {
  const auto link = static_cast<double>(tcp_bytes());
  EXPECT_GT(link, 90e6);
  EXPECT_GE(static_cast<double>(stream_bytes(false)), 0.95 * link);
  EXPECT_GE(static_cast<double>(stream_bytes(true)), 0.95 * link);
}

}  // namespace
}  // namespace coracle::testing_support::long_link_test
