// Bursts of cancellations against our own server, whose limits on resets protect it from attacks.
#include "support/echo_fixture.hpp"

#include "coracle/coro/scope.hpp"

namespace coracle::testing_support::cancellations_test {
namespace {

class bursts_of_cancellations : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, bursts_of_cancellations, every_world_over_tcp, echo_fixture::case_name);

struct program {
  // Begins calls, gives their requests no time to be answered, and cancels them.
  static task<> burst(echo_stub s) {
    const echo::Text request;
    for (int i = 0; i < 150; ++i) {
      auto call = s.Chat();
      (void)co_await call.write(request);
    }
  }
  static task<> during(echo_stub s) {
    auto neighbour = s.Chat();
    echo::Text content;
    content.set_text("first");
    EXPECT_EQ(co_await neighbour.write(content), status());
    EXPECT_TRUE((co_await neighbour.read(content)).ok());
    for (int i = 0; i < 10; ++i) {
      task<> one = burst(s);
      co_await std::move(one);
      co_await sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(co_await neighbour.write(content), status());
    EXPECT_TRUE((co_await neighbour.read(content)).ok());
    EXPECT_EQ(content.text(), "first");
    EXPECT_EQ(co_await neighbour.finish(), status());
  }
};

TEST_P(bursts_of_cancellations, LeaveTheOtherCallsOfTheChannelAlone) {
  run(program::during(stub()));
  EXPECT_EQ(sync_wait(stub().Say(echo::Text())).status(), status());
}

}  // namespace
}  // namespace coracle::testing_support::cancellations_test
