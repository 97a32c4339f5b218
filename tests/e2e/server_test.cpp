// What a server owns, reports and counts.
#include "support/echo_fixture.hpp"

namespace coracle::testing_support::server_test {
namespace {

using namespace std::chrono_literals;

class a_server : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, a_server, every_world_and_link, echo_fixture::case_name);

TEST_P(a_server, CountsItsCallsAndConnections) {
  struct program {
    static task<server_snapshot> take(server& s) { co_return co_await s.snapshot(); }
    // The client observes its deadline before the server does.
    static task<server_snapshot> take_settled(server& s) {
      for (;;) {
        server_snapshot now = co_await s.snapshot();
        if (now.calls_succeeded + now.calls_failed == now.calls_started) co_return now;
        co_await sleep_for(1ms);
      }
    }
  };
  const server_snapshot before = run(program::take(*server_));
  EXPECT_EQ(before.connections.size(), 0u);
  EXPECT_EQ(before.calls_started, 0u);
  EXPECT_EQ(before.last_call_started, wall_time{});

  for (int i = 0; i < 3; ++i) EXPECT_EQ(sync_wait(stub().Say(text("x"))).status(), status());
  EXPECT_FALSE(sync_wait(stub().Misbehave(text("hang"), within(10ms))).ok());
  const server_snapshot after = run(program::take_settled(*server_));
  EXPECT_EQ(after.calls_started, 4u);
  EXPECT_EQ(after.calls_succeeded, 3u);
  EXPECT_EQ(after.calls_failed, 1u);
  EXPECT_NE(after.last_call_started, wall_time{});
  const bool in_process = std::get<1>(GetParam()) == link_kind::in_process;
  EXPECT_EQ(after.listeners.size(), in_process ? 0u : 1u);
  ASSERT_EQ(after.connections.size(), 1u);
  const connection_snapshot& c = after.connections.front();
  EXPECT_NE(c.id, 0u);
  EXPECT_FALSE(c.secure);
  EXPECT_EQ(c.streams_started, 4u);
  EXPECT_EQ(c.streams_succeeded + c.streams_failed, 4u);
  EXPECT_EQ(c.streams_open, 0u);
  EXPECT_EQ(c.messages_sent, 3u);
  EXPECT_EQ(c.messages_received, 4u);
  EXPECT_NE(c.last_message_sent, wall_time{});
  EXPECT_NE(c.last_message_received, wall_time{});
  EXPECT_GT(c.send_window_bytes, 0);
  EXPECT_GT(c.receive_window_bytes, 0);
}

TEST_P(a_server, KeepsTheServicesThatItWasGiven) {
  channel_.reset();
  server_.emplace(rt());
  server_->add(std::make_unique<echo_service>());
  link();
  EXPECT_EQ(sync_wait(stub().Say(text("x"))).status(), status());
}

}  // namespace
}  // namespace coracle::testing_support::server_test
