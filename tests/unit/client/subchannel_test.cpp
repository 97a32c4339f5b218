// What a subchannel makes of its connections' ends.
#include "unit/client/balancer_fixture.hpp"

namespace coracle::client::test {
namespace {

// What a subchannel by itself tells nobody in particular.
struct silent_owner final : subchannel_owner {
  bool left = false;
  void on_state(subchannel&) noexcept override {}
  void on_slots(subchannel&) noexcept override {}
  void on_left(subchannel&) noexcept override { left = true; }
};

std::uint64_t pings(const subchannel& s) {
  const auto found = s.figures();
  return found.connections.size() == 1 ? found.connections.front().keepalives_sent : ~std::uint64_t{0};
}

TEST(Subchannel, AsksHalfAsOftenOnEachConnectionAfterAServerComplainedOfPings) {
  struct program {
    static task<> go() {
      loop& here = *loop::current();
      const auto net = std::make_shared<scripted_servers>();
      net->serve(1);
      connecting how;
      how.by = net;
      how.name = "target";
      how.connection.http2.keepalive = {10s, 20s, true};
      silent_owner owner;
      subchannel s(here, how, endpoint(at(1)), owner);
      for (const duration time : {10s, 20s, 40s}) {
        s.connect();
        co_await sleep_for(time - 1s);
        EXPECT_EQ(s.state(), connectivity::ready);
        EXPECT_EQ(pings(s), 0u) << time / 1s;
        co_await sleep_for(2s);
        EXPECT_EQ(pings(s), 1u) << time / 1s;
        net->made.back()->complain();
        co_await sleep_for(5s);
        EXPECT_EQ(s.state(), connectivity::idle);
      }
      // An end of another kind leaves it at that.
      s.connect();
      co_await sleep_for(1s);
      net->made.back()->die();
      co_await sleep_for(5s);
      s.connect();
      co_await sleep_for(79s);
      EXPECT_EQ(pings(s), 0u);
      co_await sleep_for(2s);
      EXPECT_EQ(pings(s), 1u);
      s.close("the test is over");
      net->end();
      co_await sleep_for(1min);
      EXPECT_TRUE(owner.left);
    }
  };
  sim::world world{1};
  runtime& host = world.host("host", 1);
  sync_wait(host, host.at(0), program::go());
}

}  // namespace
}  // namespace coracle::client::test
