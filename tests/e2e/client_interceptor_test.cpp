// Interceptors of a client: around every kind of call, in order, to every kind of end.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/client_interceptor.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace coracle::testing_support::client_interceptor_test {
namespace {

using namespace std::chrono_literals;

class noting final : public client_interceptor {
 public:
  noting(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  task<status> intercept(client_context& call, next_call next) override {
    log_.push_back(name_ + ">" + std::string(call.method()));
    const status s = co_await next();
    log_.push_back("<" + name_ + " " + std::string(name_of(s.code())));
    co_return s;
  }

 private:
  std::string name_;
  std::vector<std::string>& log_;
};

using body = task<status> (*)(client_context&, next_call);
class doing final : public client_interceptor {
 public:
  explicit doing(body program) : what_(program) {}
  task<status> intercept(client_context& call, next_call next) override { return what_(call, next); }

 private:
  body what_;
};

class client_interceptors : public echo_fixture {
 protected:
  static task<std::vector<status>> one_of_each(echo_stub s) {
    std::vector<status> ends;
    const echo::Text hello = text("hello", 2);
    const auto reply = co_await s.Say(hello);
    ends.push_back(reply.status());
    auto collecting = s.Collect();
    (void)co_await collecting.write(hello);
    const auto collected = co_await collecting.finish();
    ends.push_back(collected.status());
    auto repeating = s.Repeat(hello);
    int replies = 0;
    while (true) {
      const auto one = co_await repeating.next();
      if (!one.ok() || !*one) break;
      ++replies;
    }
    const status repeated = co_await repeating.finish();
    ends.push_back(repeated);
    if (repeated.ok()) {
      EXPECT_EQ(replies, 2);
    }
    auto chatting = s.Chat();
    (void)co_await chatting.write(hello);
    const status chatted = co_await chatting.finish();
    ends.push_back(chatted);
    co_return ends;
  }
  static task<> a_while() { co_await sleep_for(20ms); }
  static task<> hang(echo_stub s, status& out) {
    const echo::Text request = text("hang");
    const auto reply = co_await s.Misbehave(request);
    out = reply.status();
  }
  static task<status> stop_soon(echo_stub s) {
    status out;
    scope work{co_await coro::this_environment()};
    work.spawn(hang(s, out));
    co_await sleep_for(20ms);
    work.request_stop();
    co_await work.join();
    co_return out;
  }
  std::vector<std::string> log_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, client_interceptors, every_world_and_link, echo_fixture::case_name);

TEST_P(client_interceptors, StandAroundEveryKindOfCallInOrder) {
  noting a("a", log_);
  noting b("b", log_);
  const channel inner = channel_->with_interceptors({borrowed(b)});
  const channel outer = inner.with_interceptors({borrowed(a)});
  for (const status& s : run(one_of_each(echo_stub(outer)))) EXPECT_EQ(s, status());
  std::vector<std::string> wanted;
  for (const std::string name : {"Say", "Collect", "Repeat", "Chat"})
    wanted.insert(wanted.end(), {"a>/echo.Echo/" + name, "b>/echo.Echo/" + name, "<b OK", "<a OK"});
  EXPECT_EQ(log_, wanted);
}

TEST_P(client_interceptors, OneThatDoesNotAskForTheNextSendsNothing) {
  doing refuse([](client_context&, next_call) -> task<status> { co_return status::aborted("not today"); });
  const channel front = channel_->with_interceptors({borrowed(refuse)});
  for (const status& s : run(one_of_each(echo_stub(front)))) EXPECT_EQ(s, status::aborted("not today"));
  EXPECT_EQ(service_.collected, 0);
}

TEST_P(client_interceptors, MayChangeMetadataAndTimeoutAndSeeTheTrailers) {
  doing keyed([](client_context& call, next_call next) -> task<status> {
    call.options().add_metadata("x-key", "k");
    status s = co_await next();
    EXPECT_EQ(call.initial_metadata().find("x-key"), "k");
    EXPECT_EQ(call.trailing_metadata().find("x-trailer"), "late");
    co_return s;
  });
  const channel front = channel_->with_interceptors({borrowed(keyed)});
  struct program {
    static task<> call(echo_stub s) {
      const echo::Text request = text("metadata");
      auto c = s.Misbehave(request);
      const auto reply = co_await c;
      EXPECT_EQ(reply.status(), status());
      EXPECT_EQ(c.initial_metadata().find("x-key"), "k");
      EXPECT_EQ(c.trailing_metadata().find("x-trailer"), "late");
    }
  };
  run(program::call(echo_stub(front)));
  doing hurried([](client_context& call, next_call next) -> task<status> {
    call.options().timeout = 20ms;
    co_return co_await next();
  });
  const channel fast = channel_->with_interceptors({borrowed(hurried)});
  EXPECT_EQ(sync_wait(echo_stub(fast).Misbehave(text("hang"))).status().code(),
            status_code::deadline_exceeded);
}

TEST_P(client_interceptors, MayTryAUnaryCallAgain) {
  doing stubborn([](client_context& call, next_call next) -> task<status> {
    EXPECT_TRUE(call.repeatable());
    status s = co_await next();
    EXPECT_EQ(s.code(), status_code::deadline_exceeded);
    co_await sleep_for(1ms);
    s = co_await next();
    EXPECT_EQ(s.code(), status_code::deadline_exceeded);
    call.options().timeout = 10s;
    co_return co_await next();
  });
  const channel front = channel_->with_interceptors({borrowed(stubborn)});
  const auto reply = sync_wait(echo_stub(front).Say(text("hi"), within(0ms)));
  EXPECT_FALSE(reply.ok()) << "the whole call's timeout holds all the same";
  doing failing([](client_context&, next_call next) -> task<status> {
    status s = co_await next();
    for (int i = 0; i < 3; ++i) s = co_await next();
    co_return s;
  });
  const channel again = channel_->with_interceptors({borrowed(failing)});
  EXPECT_EQ(sync_wait(echo_stub(again).Misbehave(text("status"))).status().code(), status_code::not_found);
  const auto second = sync_wait(echo_stub(again).Say(text("hi")));
  ASSERT_EQ(second.status(), status());
  EXPECT_EQ(second->text(), "hi");
}

TEST_P(client_interceptors, MayChangeTheStatus) {
  doing changing([](client_context&, next_call next) -> task<status> {
    const status s = co_await next();
    co_return s.ok() ? status::data_loss("no") : status();
  });
  const channel front = channel_->with_interceptors({borrowed(changing)});
  for (const status& s : run(one_of_each(echo_stub(front)))) EXPECT_EQ(s, status::data_loss("no"));
}

TEST_P(client_interceptors, AreStoppedWithTheCallWhereverTheyWait) {
  doing before([](client_context&, next_call next) -> task<status> {
    co_await sleep_for(1h);
    co_return co_await next();
  });
  doing after([](client_context&, next_call next) -> task<status> {
    static_cast<void>(co_await next());
    co_await sleep_for(1h);
    co_return status();
  });
  doing around([](client_context&, next_call next) -> task<status> { co_return co_await next(); });
  for (client_interceptor* which : {&before, &after, &around}) {
    const channel front = channel_->with_interceptors({borrowed(*which)});
    EXPECT_EQ(run(stop_soon(echo_stub(front))).code(), status_code::cancelled);
    EXPECT_EQ(sync_wait(echo_stub(front).Misbehave(text("hang"), within(20ms))).status().code(),
              status_code::deadline_exceeded);
    struct program {
      static task<status> cancel(echo_stub s) {
        auto c = s.Chat();
        co_await c.start();
        co_await sleep_for(5ms);
        c.cancel();
        co_return co_await c.finish();
      }
      static task<> drop(echo_stub s) {
        auto c = s.Chat();
        co_await c.start();
        co_await sleep_for(5ms);
      }
    };
    EXPECT_EQ(run(program::cancel(echo_stub(front))).code(), status_code::cancelled);
    run(program::drop(echo_stub(front)));
    run(a_while());
  }
}

TEST_P(client_interceptors, WhatEscapesFromOneIsTheCallsStatus) {
  doing throwing([](client_context& call, next_call next) -> task<status> {
    if (call.method() == "/echo.Echo/Say") throw std::runtime_error("oh");
    static_cast<void>(co_await next());
    throw status_error(status::aborted("thrown"));
  });
  const channel front = channel_->with_interceptors({borrowed(throwing)});
  const auto ends = run(one_of_each(echo_stub(front)));
  EXPECT_EQ(ends[0], status::unknown("oh"));
  for (std::size_t i = 1; i < ends.size(); ++i) EXPECT_EQ(ends[i], status::aborted("thrown"));
}

TEST_P(client_interceptors, ATimeoutAroundTheNextCancelsTheCall) {
  doing limiting([](client_context&, next_call next) -> task<status> {
    struct rest {
      static task<status> run(next_call n) { co_return co_await n(); }
    };
    auto all = rest::run(next);
    with_timeout<status> limited(20ms, std::move(all));
    const status s = co_await limited;
    co_return s.ok() ? s : status::resource_exhausted("slow");
  });
  const channel front = channel_->with_interceptors({borrowed(limiting)});
  EXPECT_EQ(sync_wait(echo_stub(front).Misbehave(text("hang"))).status(), status::resource_exhausted("slow"));
  EXPECT_EQ(sync_wait(echo_stub(front).Say(text("quick"))).status(), status());
}

TEST_P(client_interceptors, ADetachedStreamDoesNotHearThatItsMakerWasStopped) {
  doing passing([](client_context&, next_call next) -> task<status> { co_return co_await next(); });
  const channel front = channel_->with_interceptors({borrowed(passing)});
  struct program {
    using chat = bidi_call<echo::Text, echo::Text>;
    static task<> begin_when_stopped(chat& c) {
      try {
        co_await sleep_for(1h);
      } catch (const coro::cancelled&) {
      }
      co_await c.start();
    }
    static task<status> talk(echo_stub s) {
      call_options detached = within(20s);
      detached.detached = true;
      auto c = s.Chat(detached);
      scope work{co_await coro::this_environment()};
      work.spawn(begin_when_stopped(c));
      co_await sleep_for(5ms);
      work.request_stop();
      co_await work.join();
      (void)co_await c.write(text("on"));
      co_return co_await c.finish();
    }
  };
  EXPECT_EQ(run(program::talk(echo_stub(front))), status());
}

// An error that a server causes must not end a client.
TEST_P(client_interceptors, OkWithoutAReplyIsInternal) {
  doing lenient([](client_context&, next_call next) -> task<status> {
    static_cast<void>(co_await next());
    co_return status();
  });
  const channel front = channel_->with_interceptors({borrowed(lenient)});
  const auto none = sync_wait(echo_stub(front).Misbehave(text("status")));
  EXPECT_EQ(none.status(), status::internal("an interceptor returned OK for a call that got no reply"));
  EXPECT_EQ(sync_wait(echo_stub(front).Say(text("there is one"))).status(), status());
}

TEST_P(client_interceptors, ASecondNextAroundAStreamIsInternal) {
  doing twice([](client_context&, next_call next) -> task<status> {
    static_cast<void>(co_await next());
    co_return co_await next();
  });
  const channel front = channel_->with_interceptors({borrowed(twice)});
  struct program {
    static task<status> chat(echo_stub s) {
      auto c = s.Chat();
      co_return co_await c.finish();
    }
  };
  const status outcome = run(program::chat(echo_stub(front)));
  EXPECT_EQ(outcome.code(), status_code::internal);
  EXPECT_THAT(std::string(outcome.message()), ::testing::HasSubstr("called next() twice for a stream"));
}

TEST_P(client_interceptors, AnEmptyTaskIsInternal) {
  doing nothing([](client_context&, next_call) { return task<status>(); });
  const channel front = channel_->with_interceptors({borrowed(nothing)});
  EXPECT_EQ(sync_wait(echo_stub(front).Say(text("x"))).status(),
            status::internal("an interceptor returned an empty task: make intercept() a coroutine"));
}

}  // namespace
}  // namespace coracle::testing_support::client_interceptor_test
