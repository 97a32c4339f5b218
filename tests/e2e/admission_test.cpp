// What clients see of a server with server_options::admission.
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/sleep.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::admission_test {
namespace {

using namespace std::chrono_literals;

class admission : public echo_fixture {
 protected:
  void SetUp() override {
    echo_fixture::SetUp();
    if (!IsSkipped()) make_server(one_call_at_a_time());
  }
  static server_options one_call_at_a_time() {
    server_options options;
    options.admission = admission_options{.min_concurrency = 1, .max_concurrency = 1};
    return options;
  }
  struct outcome {
    status result;
    std::string pushback;
  };
  static task<outcome> say(echo_stub s, call_options options = {}) {
    const echo::Text request = text("x");
    auto call = s.Say(request, options);
    const auto reply = co_await call;
    co_return outcome{reply.status(),
                      std::string(call.trailing_metadata().find("grpc-retry-pushback-ms").value_or(""))};
  }
  static task<> hang(echo_stub s, call_options options = {}) {
    const echo::Text request = text("hang");
    static_cast<void>(co_await s.Misbehave(request, options));
  }
  // Runs `then` while a call holds the only place.
  template <class F>
  void while_a_call_hangs(F then) {
    struct program {
      static task<> run(echo_stub s, echo_service& service, F next) {
        scope work{co_await coro::this_environment()};
        work.spawn(hang(s));
        while (service.hung == 0) co_await sleep_for(1ms);
        co_await next(s);
        work.request_stop();
        co_await work.join();
      }
    };
    run(program::run(stub(), service_, then));
  }
  void expect_served() { EXPECT_EQ(run(say(stub())).result, status()); }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, admission, every_world_over_tcp, echo_fixture::case_name);

// In a simulated world, where nothing delays a call.
class timed_admission : public admission {};
INSTANTIATE_TEST_SUITE_P(Everywhere, timed_admission,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(timed_admission, ACallAboveTheLimitRunsWhenThereIsAPlace) {
  struct program {
    static task<> run(echo_stub s, echo_service& service) {
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, within(40ms)));
      while (service.hung == 0) co_await sleep_for(1ms);
      const auto second = co_await say(s);
      EXPECT_EQ(second.result, status());
      EXPECT_EQ(service.stopped, 1) << "it has waited for the first one";
      co_await work.join();
    }
  };
  run(program::run(stub(), service_));
}

TEST_P(admission, ACallThatWaitsInVainIsUnavailableAndItsClientHearsWhenToRetry) {
  while_a_call_hangs([](echo_stub s) -> task<> {
    const auto second = co_await say(s);
    EXPECT_EQ(second.result.code(), status_code::unavailable) << second.result;
    EXPECT_NE(second.result.message().find("overloaded"), std::string::npos) << second.result;
    const int ms = std::stoi("0" + second.pushback);
    EXPECT_GE(ms, 100);
    EXPECT_LE(ms, 300);
  });
  expect_served();
}

TEST_P(admission, ClientsAreToldNotToRetrySheddableCalls) {
  while_a_call_hangs([](echo_stub s) -> task<> {
    call_options batch;
    batch.criticality = criticality::sheddable_plus;
    const auto second = co_await say(s, batch);
    EXPECT_EQ(second.result.code(), status_code::unavailable) << second.result;
    EXPECT_EQ(second.pushback, "-1");
  });
}

TEST_P(timed_admission, ACallThatIsCancelledWhileItWaitsLeavesTheLine) {
  while_a_call_hangs([](echo_stub s) -> task<> {
    const auto second = co_await say(s, within(30ms));
    EXPECT_EQ(second.result.code(), status_code::deadline_exceeded) << second.result;
  });
  expect_served();
  const server_snapshot now = run(server_->snapshot());
  EXPECT_EQ(now.calls_waiting, 0u);
  EXPECT_EQ(now.calls_limited, 0u);
  EXPECT_EQ(now.concurrency_limit, rt().size());
}

// A client must not keep others from running while no handler of its calls runs.
TEST_P(timed_admission, ARequestWithoutItsEndHoldsNoPlace) {
  struct program {
    static task<> run(echo_stub s, server& of, std::string address) {
      using raw_frames::frame;
      using raw_frames::literal;
      net::stream peer = co_await raw_http::connect(address);
      std::string call =
          frame(raw_frames::headers, raw_frames::end_headers, 1,
                literal(":method", "POST") + literal(":scheme", "http") +
                    literal(":path", "/echo.Echo/Misbehave") + literal(":authority", "localhost") +
                    literal("te", "trailers") + literal("content-type", "application/grpc"));
      const std::string body = text("hang").SerializeAsString();
      call += frame(raw_frames::data, 0, 1, std::string(4, '\0') + static_cast<char>(body.size()) + body);
      co_await raw_http::send(peer, raw_frames::greeting() + call);
      co_await sleep_for(20ms);
      EXPECT_EQ((co_await of.snapshot()).calls_limited, 0u);
      EXPECT_EQ((co_await say(s, within(20ms))).result, status());
      co_await sleep_for(100ms);
      EXPECT_EQ((co_await of.snapshot()).calls_limited, 1u) << "its handler runs";
    }
  };
  run(program::run(stub(), *server_, address_));
}

TEST_P(admission, StreamsAndFullLinesDoNotMix) {
  while_a_call_hangs([](echo_stub s) -> task<> {
    auto stream = s.Repeat(make_text("again", 3));
    int n = 0;
    for (echo::Text one; more(co_await stream.read(one));) ++n;
    EXPECT_EQ(n, 3) << "a stream holds no place, and begins while few calls wait";
    EXPECT_EQ(co_await stream.finish(), status());
  });
}

TEST_P(timed_admission, AStreamIsRejectedAtItsBeginningWhileTheLineIsFull) {
  while_a_call_hangs([](echo_stub s) -> task<> {
    struct program {
      static task<> wait(echo_stub to) { static_cast<void>(co_await say(to)); }
    };
    scope work{co_await coro::this_environment()};
    // Calls wait for 100 ms without a pause, so that the line is as short as can be.
    for (int i = 0; i < 30; ++i) {
      work.spawn(program::wait(s));
      co_await sleep_for(5ms);
    }
    for (int i = 0; i < 20; ++i) work.spawn(program::wait(s));
    auto stream = s.Repeat(make_text("again", 3));
    echo::Text one;
    EXPECT_FALSE(more(co_await stream.read(one)));
    EXPECT_EQ((co_await stream.finish()).code(), status_code::unavailable);
    co_await work.join();
    auto later = s.Repeat(make_text("again", 1));
    EXPECT_TRUE(more(co_await later.read(one))) << "the line is empty";
    while (more(co_await later.read(one))) {
    }
    EXPECT_EQ(co_await later.finish(), status());
  });
}

// The interceptor has begun, and ends when the call is rejected.
TEST_P(admission, ACallWithAnInterceptorWaitsBeforeItIsDecoded) {
  class passing final : public server_interceptor {
   public:
    task<status> intercept(server_context&, next_handler next) override {
      ++begun;
      const status outcome = co_await next();
      ++ended;
      co_return outcome;
    }
    int begun = 0;
    int ended = 0;
  };
  const auto seen = std::make_shared<passing>();
  channel_.reset();
  server_.emplace(rt(), one_call_at_a_time());
  server_->add(service_);
  server_->add_interceptor(seen);
  link();
  while_a_call_hangs([](echo_stub s) -> task<> {
    const auto second = co_await say(s);
    EXPECT_EQ(second.result.code(), status_code::unavailable) << second.result;
  });
  expect_served();
  EXPECT_EQ(seen->begun, 3);
  EXPECT_EQ(seen->ended, 3);
}

TEST_P(admission, WebClientsGetRetryAfter) {
  const std::string address = tcp_address();
  while_a_call_hangs([&](echo_stub) -> task<> {
    const auto answer = raw_http::parse(co_await raw_http::exchange(
        address, raw_http::request("POST /echo.Echo/Say",
                                   "content-type: application/proto\r\ncontent-length: 0\r\n")));
    EXPECT_EQ(answer.status(), 503) << answer.head;
    EXPECT_EQ(answer.field("retry-after"), "1") << answer.head;
  });
}

// What a handler says about retries has the same form.
TEST_P(admission, HandlersTellRestClientsWhenToRetry) {
  class busy_service final : public echo_service {
    reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
      if (request.text() == "never") context.do_not_retry();
      else context.retry_after(1001ms);
      co_return status::unavailable("later");
    }
    replies<echo::Text> Repeat(server_context& context, const echo::Text&) override {
      context.retry_after(0s);
      co_return status::resource_exhausted("later");
    }
  } busy;
  channel_.reset();
  server_.emplace(rt(), one_call_at_a_time());
  server_->add(busy);
  rest_options rest;
  rest.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/say/{text}"},
                                           {"selector": "echo.Echo.Repeat", "get": "/repeat/{text}"}]}})";
  ASSERT_EQ(server_->add_rest(rest), status());
  link();
  const auto ask = [&](const std::string& line) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request(line))));
  };
  const auto later = ask("GET /say/x");
  EXPECT_EQ(later.status(), 503) << later.head;
  EXPECT_EQ(later.field("retry-after"), "2") << later.head;
  EXPECT_FALSE(ask("GET /say/never").has("retry-after"));
  const auto stream = ask("GET /repeat/x");
  EXPECT_EQ(stream.status(), 429) << stream.head;
  EXPECT_EQ(stream.field("retry-after"), "1") << stream.head;
  server_.reset();
}

TEST_P(timed_admission, ADrainCancelsCallsThatWait) {
  while_a_call_hangs([this](echo_stub s) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn([](echo_stub to) -> task<> {
      const auto second = co_await say(to);
      EXPECT_EQ(second.result.code(), status_code::unavailable) << second.result;
      EXPECT_EQ(second.result.message().find("overloaded"), std::string::npos) << second.result;
    }(s));
    co_await sleep_for(20ms);
    co_await server_->drain(20ms);
    co_await work.join();
  });
}

}  // namespace
}  // namespace coracle::testing_support::admission_test
