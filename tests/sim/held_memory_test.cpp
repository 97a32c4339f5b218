// Clients that hold memory and do nothing, together with one that works: in virtual time.
#include "support/echo_service.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::testing_support::held_memory_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t megabyte = 1u << 20;

// Reads what arrives, and sends a short reply.
class sink_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text&) override { co_return echo::Text(); }
};

// Two messages that are begun and not continued: some 460 KB charged to the server's memory.
std::string two_halves() {
  return raw_frames::greeting() + raw_frames::head("/echo.Echo/Collect", 1) +
         raw_frames::part_of_message(1, megabyte, 250'000) + raw_frames::head("/echo.Echo/Collect", 3) +
         raw_frames::part_of_message(3, megabyte, 120'000);
}

struct program {
  static task<> hold(std::string at, time_point& ended) {
    auto connected = co_await net::stream::connect(net::address::parse(at).value());
    EXPECT_TRUE(connected.ok());
    if (!connected) co_return;
    const std::string output = two_halves();
    static_cast<void>(
        co_await connected->write({reinterpret_cast<const std::uint8_t*>(output.data()), output.size()}));
    std::uint8_t bytes[4096];
    for (;;) {  // until the server closes the connection
      const auto got = co_await connected->read(bytes);
      if (!got || *got == 0) break;
    }
    ended = coro::this_executor().now();
  }
  static task<> pause(duration d) { co_await sleep_for(d); }
  // A message that is more than half of its connection's share.
  static task<status> call(echo_stub s, duration after) {
    co_await sleep_for(after);
    echo::Text request;
    request.set_text(std::string(250'000, 'x'));
    const auto reply = co_await s.Say(request);
    co_return reply.status();
  }
};

class held_memory : public ::testing::Test {
 protected:
  void attack(int n, const std::string& at) {
    ended_.resize(static_cast<std::size_t>(n), never);
    for (time_point& e : ended_) attackers_.spawn(program::hold(at, e));
  }
  [[nodiscard]] int closed() const {
    int n = 0;
    for (const time_point e : ended_) n += e != never;
    return n;
  }
  [[nodiscard]] std::string at(int port) { return world_.address_of("server") + ":" + std::to_string(port); }

  sim::world world_{7};
  runtime& servers_ = world_.host("server");
  runtime& clients_ = world_.host("client");
  runtime& attackers_ = world_.host("attackers");
  std::vector<time_point> ended_;
  sink_service service_;
};

TEST_F(held_memory, PressureThatLastsEndsWithThoseThatHoldMost) {
  const memory_quota quota(4 * megabyte);
  server_options options;
  options.memory = quota;
  server srv(servers_, options);
  srv.add(service_);
  ASSERT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
  channel c(clients_, at(50051), insecure());
  const time_point began = world_.now();
  attack(7, at(50051));
  EXPECT_EQ(sync_wait(clients_, program::call(echo_stub(c), 1s)), status());
  EXPECT_GT(quota.used_bytes(), quota.limit_bytes() / 8 * 5);
  EXPECT_LT(quota.used_bytes(), quota.limit_bytes() / 8 * 7);
  EXPECT_EQ(sync_wait(clients_, program::call(echo_stub(c), 1s)).code(), status_code::unavailable)
      << "under pressure its connection gets no new calls";
  EXPECT_EQ(closed(), 0);
  EXPECT_EQ(sync_wait(clients_, program::call(echo_stub(c), began + 65s - world_.now())), status());
  EXPECT_GE(closed(), 1);
  EXPECT_LE(closed(), 3) << "so that there is room again, and no more than that";
}

TEST_F(held_memory, OfTwoServersThatShareAQuotaTheOneWithTheHeavyConnectionsClosesThem) {
  const memory_quota quota(megabyte / 8 * 9);
  server_options options;
  options.memory = quota;
  server heavy(servers_, options);
  server light(servers_, options);
  int port = 50051;
  for (server* s : {&heavy, &light}) {
    s->add(service_);
    ASSERT_EQ(s->listen("0.0.0.0:" + std::to_string(port++), insecure()), status());
  }
  channel c(clients_, at(50052), insecure());
  attack(2, at(50051));
  sync_wait(clients_, program::pause(500ms));
  EXPECT_EQ(closed(), 0) << quota.used_bytes();
  EXPECT_EQ(sync_wait(clients_, program::call(echo_stub(c), 1s)), status());
  sync_wait(clients_, program::pause(1s));
  EXPECT_EQ(closed(), 1) << quota.used_bytes();
}

}  // namespace
}  // namespace coracle::testing_support::held_memory_test
