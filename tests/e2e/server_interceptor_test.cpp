// Interceptors of a server: around every kind of call, in order, to every kind of end.
#include "support/echo_fixture.hpp"

#include "coracle/server/access_log.hpp"
#include "coracle/server/authorization.hpp"
#include "coracle/server/call_statistics.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace coracle::testing_support::server_interceptor_test {
namespace {

using namespace std::chrono_literals;

// Records in a log of the test when it is entered and left, and with what.
class noting final : public server_interceptor {
 public:
  noting(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  task<status> intercept(server_context& context, next_handler next) override {
    log_.push_back(name_ + ">");
    const status s = co_await next();
    log_.push_back("<" + name_ + " " + std::string(name_of(s.code())));
    context.trailing_metadata().add("x-passed", name_);
    last = s;
    traffic = context.traffic();
    ++ended;
    co_return s;
  }
  status last;
  call_traffic traffic;
  int ended = 0;

 private:
  std::string name_;
  std::vector<std::string>& log_;
};

using body = task<status> (*)(server_context&, next_handler);
class doing final : public server_interceptor {
 public:
  explicit doing(body program) : what_(program) {}
  task<status> intercept(server_context& context, next_handler next) override { return what_(context, next); }

 private:
  body what_;
};

class server_interceptors : public echo_fixture {
 protected:
  void serve(std::vector<std::shared_ptr<server_interceptor>> around) {
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
    for (auto& i : around) server_->add_interceptor(std::move(i));
    link();
  }
  void serve(body program) { serve({std::make_shared<doing>(program)}); }

  // One call of each kind; returns their statuses.
  static task<std::vector<status>> one_of_each(echo_stub s) {
    std::vector<status> ends;
    const echo::Text hello = text("hello", 2);
    const auto reply = co_await s.Say(hello);
    ends.push_back(reply.status());
    const auto at_once = co_await s.SayAtOnce(hello);
    ends.push_back(at_once.status());
    auto collecting = s.Collect();
    (void)co_await collecting.write(hello);
    const auto collected = co_await collecting.finish();
    ends.push_back(collected.status());
    auto repeating = s.Repeat(hello);
    const status repeated = co_await repeating.finish();
    ends.push_back(repeated);
    auto chatting = s.Chat();
    (void)co_await chatting.write(hello);
    const status chatted = co_await chatting.finish();
    ends.push_back(chatted);
    co_return ends;
  }
  task<> until_ended(const noting& n, int times) {
    while (n.ended < times) co_await sleep_for(1ms);
  }
  std::vector<std::string> log_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, server_interceptors, every_world_and_link, echo_fixture::case_name);

TEST_P(server_interceptors, StandAroundEveryKindOfCallInTheOrderAdded) {
  serve({std::make_shared<noting>("a", log_), std::make_shared<noting>("b", log_)});
  for (const status& s : run(one_of_each(stub()))) EXPECT_EQ(s, status());
  std::vector<std::string> wanted;
  for (int i = 0; i < 5; ++i) wanted.insert(wanted.end(), {"a>", "b>", "<b OK", "<a OK"});
  EXPECT_EQ(log_, wanted);
}

TEST_P(server_interceptors, OneThatDoesNotAskForTheNextRunsNoHandler) {
  auto inner = std::make_shared<noting>("inner", log_);
  serve({authorize([](const server_context& c) {
           return c.metadata().find("x-key") ? status() : status::unauthenticated("no key");
         }),
         inner});
  for (const status& s : run(one_of_each(stub()))) EXPECT_EQ(s, status::unauthenticated("no key"));
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(service_.collected, 0);
  const auto allowed = sync_wait(stub().Say(text("hi"), call_options().add_metadata("x-key", "1")));
  EXPECT_EQ(allowed.status(), status());
}

TEST_P(server_interceptors, MayChangeTheStatusAndTheTrailers) {
  serve([](server_context& context, next_handler next) -> task<status> {
    const status s = co_await next();
    context.initial_metadata().add("x-head", "late");
    context.trailing_metadata().add("x-was", name_of(s.code()));
    co_return s.ok() ? status::aborted("changed") : status::data_loss("changed, too");
  });
  struct program {
    static task<> call(echo_stub s) {
      const echo::Text fine = text("fine");
      const echo::Text bad = text("status");
      auto good = s.Say(fine);
      const auto reply = co_await good;
      EXPECT_EQ(reply.status(), status::aborted("changed"));
      EXPECT_EQ(good.trailing_metadata().find("x-was"), "OK");
      auto failing = s.Misbehave(bad);
      const auto failed = co_await failing;
      EXPECT_EQ(failed.status(), status::data_loss("changed, too"));
      EXPECT_EQ(failing.trailing_metadata().find("x-was"), "NOT_FOUND");
    }
  };
  run(program::call(stub()));
}

TEST_P(server_interceptors, MayWaitBeforeAndAfterTheHandler) {
  serve([](server_context&, next_handler next) -> task<status> {
    co_await sleep_for(5ms);
    const status s = co_await next();
    co_await sleep_for(5ms);
    co_return s;
  });
  for (const status& s : run(one_of_each(stub()))) EXPECT_EQ(s, status());
}

TEST_P(server_interceptors, SeeHowACallEndedThatEndedEarly) {
  auto outer = std::make_shared<noting>("outer", log_);
  serve({outer, std::make_shared<noting>("inner", log_)});
  const auto late = sync_wait(stub().Misbehave(text("hang"), within(20ms)));
  EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
  run(until_ended(*outer, 1));
  // Whichever side's clock was first.
  EXPECT_TRUE(outer->last.code() == status_code::deadline_exceeded ||
              outer->last.code() == status_code::cancelled)
      << outer->last;
  struct program {
    static task<> cancel(echo_stub s) {
      auto c = s.Chat();
      const echo::Text hello = text("hello");
      (co_await c.write(hello)).throw_if_error();
      (co_await c.next()).value();
      c.cancel();
    }
  };
  run(program::cancel(stub()));
  run(until_ended(*outer, 2));
  EXPECT_EQ(outer->last, status::cancelled("the client cancelled the call"));
  EXPECT_EQ(outer->traffic.messages_received, 1u);
  EXPECT_EQ(outer->traffic.messages_sent, 1u);
  EXPECT_EQ(outer->traffic.bytes_sent, text("hello").ByteSizeLong());
}

TEST_P(server_interceptors, AreStoppedWhereTheyWait) {
  static int unwound;
  unwound = 0;
  serve([](server_context&, next_handler next) -> task<status> {
    struct guard {
      ~guard() { ++unwound; }
    } g;
    co_await sleep_for(1h);
    co_return co_await next();
  });
  EXPECT_EQ(sync_wait(stub().Say(text("never"), within(20ms))).status().code(),
            status_code::deadline_exceeded);
  struct program {
    static task<> wait() {
      while (unwound < 1) co_await sleep_for(1ms);
    }
  };
  run(program::wait());
  EXPECT_EQ(service_.stopped, 0);
}

TEST_P(server_interceptors, ATimeoutAroundTheNextReachesTheHandler) {
  serve([](server_context& context, next_handler next) -> task<status> {
    struct rest {
      static task<status> run(next_handler n) { co_return co_await n(); }
    };
    auto all = rest::run(next);
    with_timeout<status> limited(20ms, std::move(all));
    status s = co_await limited;
    EXPECT_EQ(context.deadline(), never);
    co_return s.ok() ? s : status::resource_exhausted("slow");
  });
  EXPECT_EQ(sync_wait(stub().Misbehave(text("hang"))).status(), status::resource_exhausted("slow"));
  EXPECT_EQ(service_.stopped, 1);
  const auto shown = sync_wait(stub().Misbehave(text("deadline")));
  ASSERT_EQ(shown.status(), status());
  EXPECT_GE(shown->count(), 0) << "the handler sees the interceptor's deadline";
}

TEST_P(server_interceptors, WhatEscapesFromOneIsItsStatusAndGivesNothingAway) {
  serve({std::make_shared<noting>("outer", log_),
         std::make_shared<doing>([](server_context& c, next_handler next) -> task<status> {
           if (c.metadata().find("x-throw")) throw std::runtime_error("secret");
           static_cast<void>(co_await next());
           throw status_error(status::aborted("thrown"));
         })});
  for (const status& s : run(one_of_each(stub()))) EXPECT_EQ(s, status::aborted("thrown"));
  const auto thrown = sync_wait(stub().Say(text(""), call_options().add_metadata("x-throw", "1")));
  EXPECT_EQ(thrown.status(), status::unknown("the handler failed"));
  EXPECT_EQ(log_.back(), "<outer UNKNOWN");
}

TEST_P(server_interceptors, ASecondNextAfterTheCallsEndStartsNothing) {
  static int unwound;
  unwound = 0;
  serve([](server_context&, next_handler next) -> task<status> {
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
    }
    const status s = co_await next();
    EXPECT_FALSE(s.ok());
    ++unwound;
    co_return s;
  });
  EXPECT_FALSE(sync_wait(stub().Misbehave(text("throw"), within(20ms))).status().ok());
  struct program {
    static task<> wait() {
      while (unwound < 1) co_await sleep_for(1ms);
    }
  };
  run(program::wait());
}

TEST_P(server_interceptors, RunningCallsEndWithTheServer) {
  auto outer = std::make_shared<noting>("outer", log_);
  serve({outer});
  status out;
  struct program {
    static task<> hang(echo_stub s, status& end) {
      const echo::Text request = text("hang");
      const auto reply = co_await s.Misbehave(request);
      end = reply.status();
    }
    static task<> stop(echo_stub s, status& end, server& which) {
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, end));
      co_await sleep_for(20ms);
      co_await which.drain(0ms);
      co_await work.join();
    }
  };
  run(program::stop(stub(), out, *server_));
  EXPECT_EQ(out.code(), status_code::unavailable) << out;
  EXPECT_EQ(outer->last.code(), status_code::unavailable);
}

TEST_P(server_interceptors, TheAccessLogHasALineForEachCall) {
  kept_log lines;
  serve({std::make_shared<access_log>(lines)});
  run(one_of_each(stub()));
  EXPECT_FALSE(sync_wait(stub().Misbehave(text("status"))).ok());
  server_.reset();
  const std::string output = lines.text();
  const std::string size = std::to_string(text("hello", 2).ByteSizeLong());
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 6) << output;
  EXPECT_THAT(output, ::testing::HasSubstr("call=/echo.Echo/Say peer="));
  EXPECT_THAT(output, ::testing::ContainsRegex(
                          "call=/echo.Echo/Collect [^\n]* status=OK duration_us=[0-9]+ received=1 "
                          "received_bytes=" +
                          size + " sent=1 sent_bytes="));
  EXPECT_THAT(output, ::testing::ContainsRegex("call=/echo.Echo/Repeat [^\n]* sent=2 "));
  EXPECT_THAT(output,
              ::testing::ContainsRegex("call=/echo.Echo/Misbehave [^\n]* status=NOT_FOUND [^\n]* sent=0 "));
}

TEST_P(server_interceptors, StatisticsCountEachSecondsCalls) {
  kept_log lines;
  {
    const auto counted = std::make_shared<call_statistics>(lines);
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
    server_->add_interceptor(counted);
    link();
    struct program {
      static task<> calls(echo_stub s) {
        run_away(co_await s.Say(text("fine")));
        run_away(co_await s.Misbehave(text("status")));
        co_await sleep_for(1100ms);
        run_away(co_await s.Say(text("fine")));
      }
      static void run_away(const result<echo::Text>&) {}
    };
    run(program::calls(stub()));
    ASSERT_TRUE(counted->last_second().has_value());
    EXPECT_GE(counted->last_second()->count, 1u);
    channel_.reset();
    server_.reset();
  }
  const std::string output = lines.text();
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  for (std::size_t at = 0; (at = output.find("calls=", at)) != std::string::npos; ++at) {
    calls += std::stoull(output.substr(at + 6));
    errors += std::stoull(output.substr(output.find("errors=", at) + 7));
  }
  EXPECT_EQ(calls, 3u) << output;
  EXPECT_EQ(errors, 1u) << output;
  EXPECT_THAT(output,
              ::testing::ContainsRegex("calls=[0-9]+ mean_us=[0-9]+ max_us=[0-9]+ min_us=[0-9]+ errors="));
}

// In the time of the simulation, because it waits for seconds.
TEST_P(server_interceptors, StatisticsLogIdleSecondsToo) {
  if (!sim_world()) return;
  kept_log lines;
  const auto counted = std::make_shared<call_statistics>(lines);
  channel_.reset();
  server_.emplace(rt());
  server_->add(service_);
  server_->add_interceptor(counted);
  link();
  struct program {
    static task<> calls(echo_stub s, call_statistics& counted) {
      scope logging(co_await coro::this_environment());
      logging.spawn(counted.log_each_second());
      co_await sleep_for(2500ms);
      static_cast<void>(co_await s.Say(text("fine")));
      co_await sleep_for(2700ms);
      logging.request_stop();
      co_await logging.join();
    }
  };
  run(program::calls(stub(), *counted));
  const std::string output = lines.text();
  std::vector<int> counts;
  for (std::size_t at = 0; (at = output.find("calls=", at)) != std::string::npos; ++at)
    counts.push_back(output[at + 6] - '0');
  EXPECT_GE(counts.size(), 4u) << output;
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 1) << output;
  EXPECT_EQ(counts.front(), 0) << output;
  EXPECT_EQ(counts.back(), 0) << output;
}

// An error that a client causes must not end a server.
TEST_P(server_interceptors, OkWithoutAReplyIsInternal) {
  serve([](server_context&, next_handler next) -> task<status> {
    static_cast<void>(co_await next());
    co_return status();
  });
  const auto none = sync_wait(stub().Misbehave(text("status")));
  EXPECT_EQ(none.status(), status::internal("the call has no reply"));
  EXPECT_EQ(sync_wait(stub().Say(text("there is one"))).status(), status());
}

TEST_P(server_interceptors, ASecondNextIsInternal) {
  serve([](server_context&, next_handler next) -> task<status> {
    static_cast<void>(co_await next());
    co_return co_await next();
  });
  EXPECT_EQ(sync_wait(stub().Say(text(""))).status(), status::internal("an interceptor failed"));
}

}  // namespace
}  // namespace coracle::testing_support::server_interceptor_test
