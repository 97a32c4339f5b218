// What clients see of server_options::rate_limits.
#include "support/echo_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/sleep.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::rate_limit_test {
namespace {

using namespace std::chrono_literals;
using caller = rate_limit::caller;

constexpr double hardly_any = 0.001;  // the next call in 1,000 s

class rates : public echo_fixture {
 protected:
  void limit(std::vector<rate_limit> all) {
    server_options options;
    options.rate_limits = std::move(all);
    make_server(options);
  }
  static rate_limit once(std::string method = {}) {
    rate_limit l(hardly_any, 1);
    if (!method.empty()) l.methods = {std::move(method)};
    return l;
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
  raw_http::response ask(const std::string& line, const std::string& fields = {},
                         const std::string& body = {}) {
    return raw_http::parse(run(raw_http::exchange(tcp_address(), raw_http::request(line, fields, body))));
  }
  // How often the response has the field.
  static int count_of(const raw_http::response& r, const std::string& name) {
    int n = 0;
    for (std::size_t at = 0; (at = r.head.find("\r\n" + name + ": ", at)) != std::string::npos; ++at) ++n;
    return n;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, rates, every_world_over_tcp, echo_fixture::case_name);

class timed_rates : public rates {};
INSTANTIATE_TEST_SUITE_P(Everywhere, timed_rates, simulation_over_tcp, echo_fixture::case_name);

TEST_P(timed_rates, ACallAboveTheRateIsRejectedUntilTheTimeThatItIsTold) {
  limit({rate_limit(10, 1)});
  struct program {
    static task<> run(echo_stub s) {
      const auto first = co_await say(s);
      EXPECT_EQ(first.result, status());
      const auto second = co_await say(s);
      EXPECT_EQ(second.result.code(), status_code::resource_exhausted);
      EXPECT_EQ(second.result.message(), "the rate limit is exceeded (see server_options::rate_limits)");
      const int ms = std::stoi("0" + second.pushback);
      EXPECT_GE(ms, 90);
      EXPECT_LE(ms, 200) << "callers that share a limit come back at different times";
      co_await sleep_for(std::chrono::milliseconds(ms));
      const auto third = co_await say(s);
      EXPECT_EQ(third.result, status());
    }
  };
  run(program::run(stub()));
  EXPECT_EQ(run(server_->snapshot()).calls_rejected, 1u);
}

// The channel waits for as long as the server says.
TEST_P(timed_rates, RetriesOfAServiceConfigWaitForTheNextToken) {
  limit({rate_limit(2, 1)});
  channel_options options;
  options.service_config =
      *service_config::parse(R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,
          "initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,
          "retryableStatusCodes":["RESOURCE_EXHAUSTED"]}}]})");
  channel_.emplace(rt(), address_, insecure(), options);
  struct program {
    static task<> run(echo_stub s) {
      for (int i = 0; i < 4; ++i) {
        const auto one = co_await say(s);
        EXPECT_EQ(one.result, status());
      }
    }
  };
  run(program::run(stub()));
  EXPECT_EQ(run(server_->snapshot()).calls_rejected, 3u) << "each of them once";
}

TEST_P(rates, AStreamIsRejectedAtItsBeginningOrNever) {
  limit({once("/echo.Echo/Repeat")});
  struct program {
    static task<> run(echo_stub s, int expected, status_code code) {
      auto stream = s.Repeat(make_text("again", 3));
      int n = 0;
      for (echo::Text one; more(co_await stream.read(one));) ++n;
      EXPECT_EQ(n, expected);
      EXPECT_EQ((co_await stream.finish()).code(), code);
    }
  };
  run(program::run(stub(), 3, status_code::ok));
  run(program::run(stub(), 0, status_code::resource_exhausted));
  EXPECT_EQ(run(say(stub())).result, status()) << "another method";
}

TEST_P(rates, EachValueOfMetadataHasItsOwnLimit) {
  rate_limit tenants(hardly_any, 1);
  tenants.per = caller::metadata;
  tenants.metadata_name = "x-tenant";
  limit({tenants});
  call_options one;
  one.metadata.add("x-tenant", "one");
  call_options two;
  two.metadata.add("x-tenant", "two");
  EXPECT_EQ(run(say(stub(), one)).result, status());
  EXPECT_EQ(run(say(stub(), one)).result.code(), status_code::resource_exhausted);
  EXPECT_EQ(run(say(stub(), two)).result, status());
  // Its headers are recognized by now.
  EXPECT_EQ(run(say(stub(), two)).result.code(), status_code::resource_exhausted);
  EXPECT_EQ(run(say(stub())).result, status());
}

// However many connections; thread_claims_test.cpp has several loops.
TEST_P(rates, AClientHasOneLimitForAllItsConnections) {
  rate_limit each(hardly_any, 5);
  each.per = caller::client;
  limit({each});
  int ok = 0;
  for (int i = 0; i < 4; ++i) {
    const channel another(rt(), address_, insecure());
    for (int n = 0; n < 3; ++n) ok += run(say(echo_stub(another))).result.ok();
  }
  EXPECT_EQ(ok, 5);
}

TEST_P(rates, WhatIsNotLimitedIsNeverRejected) {
  class exempt_service final : public echo_service {
   public:
    [[nodiscard]] bool is_limited() const noexcept override { return false; }
  } exempt;
  channel_.reset();
  server_options options;
  options.rate_limits = {once()};
  server_.emplace(rt(), options);
  server_->add(exempt);
  link();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(say(stub())).result, status());
  channel_.reset();
  server_.reset();
}

TEST_P(rates, ClientsOfConnectGetRetryAfterOnce) {
  limit({once()});
  const std::string fields = "content-type: application/proto\r\ncontent-length: 0\r\n";
  EXPECT_EQ(ask("POST /echo.Echo/Say", fields).status(), 200);
  const auto later = ask("POST /echo.Echo/Say", fields);
  EXPECT_EQ(later.status(), 429) << later.head;
  EXPECT_TRUE(later.body.find(R"("resource_exhausted")") != std::string::npos) << later.body;
  EXPECT_EQ(count_of(later, "retry-after"), 1) << later.head;
  EXPECT_GE(std::stoi("0" + later.field("retry-after")), 900);
  EXPECT_LE(std::stoi("0" + later.field("retry-after")), 1001);
}

TEST_P(rates, ClientsOfRestGet429AndRetryAfterOnce) {
  channel_.reset();
  server_options options;
  options.rate_limits = {once("/echo.Echo/Say"), once("/echo.Echo/Repeat")};
  server_.emplace(rt(), options);
  server_->add(service_);
  rest_options rest;
  rest.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/say/{text}"},
                                           {"selector": "echo.Echo.Repeat", "get": "/repeat/{text}"}]}})";
  rest.response_headers = {"retry-after"};
  ASSERT_EQ(server_->add_rest(rest), status());
  link();
  for (const std::string line : {"GET /say/x", "GET /repeat/x"}) {
    EXPECT_EQ(ask(line).status(), 200) << line;
    const auto later = ask(line);
    EXPECT_EQ(later.status(), 429) << later.head;
    EXPECT_EQ(count_of(later, "retry-after"), 1) << later.head;
    EXPECT_GE(std::stoi("0" + later.field("retry-after")), 900);
    EXPECT_TRUE(later.body.starts_with(R"({"code":8,)")) << later.body;
  }
}

// What a handler sends itself comes in place of the other one, and not beside it.
TEST_P(rates, AHandlersOwnRetryAfterIsTheOnlyOne) {
  class busy_service final : public echo_service {
    reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
      context.retry_after(2s);
      if (request.text() == "initial") context.initial_metadata().add("retry-after", "7");
      else context.trailing_metadata().add("retry-after", "7");
      co_return status::resource_exhausted("later");
    }
  } busy;
  for (const bool sent : {true, false}) {
    channel_.reset();
    server_.emplace(rt());
    server_->add(busy);
    rest_options rest;
    rest.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/say/{text}"}]}})";
    if (sent) rest.response_headers = {"retry-after"};
    ASSERT_EQ(server_->add_rest(rest), status());
    link();
    for (const std::string line : {"GET /say/initial", "GET /say/trailing"}) {
      const auto later = ask(line);
      EXPECT_EQ(count_of(later, "retry-after"), 1) << later.head;
      EXPECT_EQ(later.field("retry-after"), sent ? "7" : "2") << "response_headers decides " << line;
    }
  }
  channel_.reset();
  server_.reset();
}

TEST_P(rates, AnInvalidLimitIsAUsageError) {
  server_options options;
  options.rate_limits = {rate_limit(0)};
  EXPECT_THROW(server(rt(), options), usage_error);
}

}  // namespace
}  // namespace coracle::testing_support::rate_limit_test
