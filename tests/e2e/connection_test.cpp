// Connections: established when needed, and again after a loss.
#include "support/echo_fixture.hpp"
#include "support/misuse.hpp"

#include "coracle/net/listener.hpp"

#include <thread>

namespace coracle::testing_support::connection_test {
namespace {

using namespace std::chrono_literals;

class connection : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, connection, every_world_over_tcp, echo_fixture::case_name);

TEST_P(connection, IsMadeAgainAfterTheServerCameBack) {
  ASSERT_EQ(sync_wait(stub().Say(text("before"))).status(), status());
  server_.reset();
  EXPECT_EQ(sync_wait(stub().Say(text("meanwhile"))).status().code(), status_code::unavailable);
  server_.emplace(rt());
  server_->add(service_);
  ASSERT_EQ(server_->listen(address_, insecure()), status());
  struct program {
    // The first pause between attempts is a second.
    static task<int> until_served(echo_stub s) {
      int failed = 0;
      while (true) {
        const echo::Text request = text("after");
        const auto reply = co_await s.Say(request);
        if (reply) co_return failed;
        EXPECT_EQ(reply.status().code(), status_code::unavailable);
        if (++failed > 1000) co_return failed;
        co_await sleep_for(10ms);
      }
    }
  };
  EXPECT_LE(run(program::until_served(stub())), 1000);
}

TEST_P(connection, ThatNobodyAcceptsFailsTheCallWithTheReason) {
  server_.reset();
  const auto reply = sync_wait(stub().Say(text("")));
  EXPECT_EQ(reply.status().code(), status_code::unavailable);
  EXPECT_NE(reply.status().message().find(address_), std::string_view::npos) << reply.status();
}

TEST_P(connection, ToATargetThatIsNoAddressSaysSo) {
  channel nowhere(rt(), "no address at all", insecure());
  const auto reply = sync_wait(echo_stub(nowhere).Say(text("")));
  EXPECT_EQ(reply.status().code(), status_code::unavailable);
  EXPECT_NE(reply.status().message().find("no address at all"), std::string_view::npos) << reply.status();
}

TEST_P(connection, ThatIsNeverAnsweredIsCoveredByTheDeadline) {
  struct program {
    // Accepts no connection: the kernel establishes it, and HTTP/2 never begins.
    static task<status> silent() {
      auto listening = net::listener::open(net::address::loopback_v4(0));
      CORACLE_ASSERT(listening.ok(), "no loopback");
      const std::string at = listening->local_address().to_string();
      channel c(loop::current()->owner(), at, insecure());
      const echo::Text request = text("");
      const call_options options = within(50ms);
      const auto reply = co_await echo_stub(c).Say(request, options);
      const status out = reply.status();
      co_await listening->close();
      co_return out;
    }
  };
  EXPECT_EQ(run(program::silent()).code(), status_code::deadline_exceeded);
}

TEST_P(connection, IsRefusedInOneLineWhenTheAddressIsInUse) {
  server second(rt());
  const status reason = second.listen(address_, insecure());
  EXPECT_FALSE(reason.ok());
  EXPECT_NE(reason.message().find("in use"), std::string_view::npos) << reason;
}

TEST(ChannelOfItsOwnRuntime, ServesAPlainThread) {
  echo_service service;
  server s;
  s.add(service);
  ASSERT_EQ(s.listen("localhost:0", insecure()), status());
  s.start();
  channel c("localhost:" + std::to_string(s.port()), insecure());
  const echo_stub stub(c);
  echo::Text request;
  request.set_text("ahoy");
  const auto reply = sync_wait(stub.Say(request));
  ASSERT_EQ(reply.status(), status());
  EXPECT_EQ(reply->text(), "ahoy");
}

TEST(ChannelOfItsOwnRuntime, ServesSeveralPlainThreads) {
  echo_service service;
  runtime two(2);
  server s(two);
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  s.start();
  channel c("127.0.0.1:" + std::to_string(s.port()), insecure());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const echo_stub stub(c);
      for (int i = 0; i < 200; ++i) {
        echo::Text request;
        request.set_count(i);
        const auto reply = sync_wait(stub.Say(request));
        if (reply && reply->count() == i) ++right;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 800);
}

TEST(channel_misuse, BlockingOnALoopThrowsAndSaysTheFix) {
  struct program {
    static task<> block(channel& c) {
      echo::Text request;
      (void)sync_wait(echo_stub(c).Say(request));
      co_return;
    }
  };
  runtime rt;
  channel c(rt, "127.0.0.1:1", insecure());
  test::expect_misuse([&] { sync_wait(rt, program::block(c)); }, "co_await");
}

}  // namespace
}  // namespace coracle::testing_support::connection_test
