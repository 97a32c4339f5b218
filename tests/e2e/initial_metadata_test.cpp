// A client receives the initial metadata when the server sends them, not with the first reply.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/client_interceptor.hpp"

namespace coracle::testing_support::initial_metadata_test {
namespace {

using namespace std::chrono_literals;

class early_service final : public echo_service {
 public:
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    if (context.metadata().find("x-refuse")) co_return status::not_found("nobody here");
    if (context.metadata().find("x-early")) {
      context.initial_metadata().add("x-early", "1");
      context.send_initial_metadata();
    }
    echo::Text one;
    while (co_await texts.read(one)) co_yield one;
    co_return status();
  }
};

class initial_metadata : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return early_; }
  static call_options asking() {
    call_options with_metadata;
    with_metadata.add_metadata("x-early", "1");
    with_metadata.timeout = 20s;
    return with_metadata;
  }

  static task<> before_the_first_reply(const channel& by) {
    auto c = echo_stub(by).Chat(asking());
    const status received = co_await c.wait_for_initial_metadata();
    EXPECT_EQ(received, status());
    EXPECT_EQ(c.initial_metadata().find("x-early"), "1");
    const status again = co_await c.wait_for_initial_metadata();  // there is nothing to wait for
    EXPECT_EQ(again, status());
    (co_await c.write(text("hello"))).throw_if_error();
    const auto reply = (co_await c.next()).value();
    EXPECT_EQ(reply->text(), "hello");
    const status outcome = co_await c.finish();
    EXPECT_EQ(outcome, status());
  }
  early_service early_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, initial_metadata, every_world_and_link, echo_fixture::case_name);

TEST_P(initial_metadata, ComesBeforeTheFirstReply) { run(before_the_first_reply(*channel_)); }

TEST_P(initial_metadata, ComesThroughInterceptors) {
  class passing final : public client_interceptor {
    task<status> intercept(client_context&, next_call next) override { co_return co_await next(); }
  };
  passing passes;
  const channel front = channel_->with_interceptors({borrowed(passes)});
  run(before_the_first_reply(front));
}

TEST_P(initial_metadata, TheConnectionIsWaitedForBeforeThem) {
  struct program {
    static task<> talk(channel by) {
      auto c = echo_stub(by).Chat(asking());
      const status connected = co_await c.wait_for_connection();
      EXPECT_EQ(connected, status());
      EXPECT_TRUE(c.peer());
      const status again = co_await c.wait_for_connection();
      EXPECT_EQ(again, status());
      const status received = co_await c.wait_for_initial_metadata();
      EXPECT_EQ(received, status());
      const status outcome = co_await c.finish();
      EXPECT_EQ(outcome, status());
      const status later = co_await c.wait_for_connection();  // there was one
      EXPECT_EQ(later, status());
    }
    static task<> be_late(channel by) {
      auto c = echo_stub(by).Chat(within(0s));
      const status connected = co_await c.wait_for_connection();
      EXPECT_EQ(connected.code(), status_code::deadline_exceeded);
      EXPECT_FALSE(c.peer());
    }
    static task<> be_cancelled(channel by) {
      auto c = echo_stub(by).Chat(asking());
      c.cancel();
      const status connected = co_await c.wait_for_connection();
      EXPECT_EQ(connected.code(), status_code::cancelled);
    }
  };
  run(program::talk(*channel_));
  run(program::be_late(*channel_));
  run(program::be_cancelled(*channel_));
}

TEST_P(initial_metadata, IsWaitedForBesideAReaderAndAWriter) {
  struct program {
    using chat = bidi_call<echo::Text, echo::Text>;
    static task<> read(chat& c) {
      const auto reply = (co_await c.next()).value();
      EXPECT_TRUE(reply);
    }
    static task<> talk(echo_stub s) {
      auto c = s.Chat(within(20s));
      scope work{co_await coro::this_environment()};
      work.spawn(read(c));
      work.spawn(write(c));
      const status received = co_await c.wait_for_initial_metadata();  // comes with the reply
      EXPECT_EQ(received, status());
      co_await work.join();
      const status outcome = co_await c.finish();
      EXPECT_EQ(outcome, status());
    }
    static task<> write(chat& c) {
      co_await sleep_for(5ms);
      (co_await c.write(text("now"))).throw_if_error();
    }
  };
  run(program::talk(stub()));
}

TEST_P(initial_metadata, OfACallThatEndsWithoutAnyIsItsStatus) {
  class refusing final : public client_interceptor {
    task<status> intercept(client_context&, next_call) override { co_return status::aborted("not today"); }
  };
  refusing refuses;
  const channel front = channel_->with_interceptors({borrowed(refuses)});
  struct program {
    static task<status> wait(const channel& by, call_options options) {
      auto c = echo_stub(by).Chat(options);
      co_return co_await c.wait_for_initial_metadata();
    }
  };
  EXPECT_EQ(run(program::wait(*channel_, within(20s).add_metadata("x-refuse", "1"))),
            status::not_found("nobody here"));
  EXPECT_EQ(run(program::wait(front, within(20s))), status::aborted("not today"));
  EXPECT_EQ(run(program::wait(*channel_, within(20ms))).code(), status_code::deadline_exceeded);
  EXPECT_EQ(run(program::wait(*channel_, within(0s))).code(), status_code::deadline_exceeded);
}

TEST_P(initial_metadata, MayBeGivenUpAndTheCallGoesOn) {
  struct program {
    using chat = bidi_call<echo::Text, echo::Text>;
    static task<> wait(chat& c, status& outcome) { outcome = co_await c.wait_for_initial_metadata(); }
    static task<> talk(echo_stub s) {
      auto c = s.Chat(within(20s));
      status waited;
      scope work{co_await coro::this_environment()};
      work.spawn(wait(c, waited));
      co_await sleep_for(5ms);
      work.request_stop();
      co_await work.join();
      EXPECT_EQ(waited.code(), status_code::cancelled);
      (co_await c.write(text("still here"))).throw_if_error();
      const auto reply = (co_await c.next()).value();
      EXPECT_EQ(reply->text(), "still here");
      const status outcome = co_await c.finish();
      EXPECT_EQ(outcome, status());
    }
  };
  run(program::talk(stub()));
}

}  // namespace
}  // namespace coracle::testing_support::initial_metadata_test
