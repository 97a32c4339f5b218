// Calls with an idempotency key, which a server runs once (idempotent_calls(), idempotency_keys()).
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/client/idempotency_keys.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/server/idempotency.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing_support::idempotency_test {
namespace {

using namespace std::chrono_literals;

// Answers with the number of the call.
class numbering_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    const int number = ++calls;
    keys.emplace_back(context.metadata().find("idempotency-key").value_or(""));
    context.trailing_metadata().add("x-number", std::to_string(number));
    if (request.text() == "slow") co_await sleep_for(10s);
    if (request.text() == "endless") co_await sleep_for(24h);
    if (request.text() == "again") {
      context.retry_after(1ms);
      co_return status::unavailable("call " + std::to_string(number));
    }
    if (request.text() == "throw") throw std::runtime_error("as planned");
    if (request.text() == "missing")
      co_return status(status_code::not_found, "call " + std::to_string(number));
    echo::Text answer = request;
    answer.set_count(number);
    co_return answer;
  }
  int calls = 0;
  std::vector<std::string> keys;
};

class idempotency : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return service_; }
  void SetUp() override {
    echo_fixture::SetUp();
    if (IsSkipped()) return;
    serve(memory_idempotency_store());
  }
  void serve(std::shared_ptr<idempotency_store> store, client_naming naming) {
    channel_.reset();
    server_options options;
    options.codecs.push_back(&json_codec());
    server_.emplace(rt(), options);
    server_->add_interceptor(idempotent_calls(std::move(store), {"/echo.Echo/"}, std::move(naming)));
    server_->add(service_);
    link();
  }
  void serve(std::shared_ptr<idempotency_store> store,
             std::shared_ptr<server_interceptor> outside = nullptr) {
    channel_.reset();
    server_options options;
    options.codecs.push_back(&json_codec());
    server_.emplace(rt(), options);
    if (outside) server_->add_interceptor(std::move(outside));
    server_->add_interceptor(idempotent_calls(std::move(store), {"/echo.Echo/"}));
    server_->add(service_);
    link();
  }
  static call_options with_key(std::string_view key, call_options o = {}) {
    o.metadata.add("idempotency-key", key);
    return o;
  }
  struct answer {
    status outcome;
    int number = 0;
    std::string trailer;
  };
  static task<> say(echo_stub s, const char* word, call_options with, answer& into) {
    const echo::Text request = make_text(word);
    auto call = s.Say(request, with);
    const auto reply = co_await call;
    into.outcome = reply.status();
    if (reply.ok()) into.number = reply->count();
    into.trailer = call.trailing_metadata().find("x-number").value_or("");
  }
  answer ask(const char* word, call_options with) {
    answer a;
    run(say(stub(), word, std::move(with), a));
    return a;
  }
  static task<> wait(duration d) { co_await sleep_for(d); }
  // Two calls with one key at the same time.
  task<std::vector<answer>> twice(const char* word, call_options first, call_options second) {
    std::vector<answer> both(2);
    scope work{co_await coro::this_environment()};
    work.spawn(say(stub(), word, std::move(first), both[0]));
    co_await sleep_for(1s);
    work.spawn(say(stub(), word, std::move(second), both[1]));
    co_await work.join();
    co_return both;
  }
  numbering_service service_;
};
INSTANTIATE_TEST_SUITE_P(Simulated, idempotency, simulation_over_tcp, echo_fixture::case_name);

TEST_P(idempotency, RunsACallOnceAndAnswersItAgain) {
  for (int i = 0; i < 3; ++i) {
    const answer a = ask("a", with_key("k"));
    EXPECT_EQ(a.outcome, status());
    EXPECT_EQ(a.number, 1);
    EXPECT_EQ(a.trailer, "1");
  }
  EXPECT_EQ(service_.calls, 1);
  EXPECT_EQ(ask("a", with_key("another")).number, 2);
}

TEST_P(idempotency, ChangesNoOtherCall) {
  EXPECT_EQ(ask("a", {}).number, 1);
  EXPECT_EQ(ask("a", {}).number, 2);
  const auto collect = [](echo_stub s, call_options with) -> task<status> {
    auto call = s.Collect(with);
    (void)co_await call.write(make_text("a"));
    const auto all = co_await call.finish();
    co_return all.status();
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(collect(stub(), with_key("k"))), status());
}

TEST_P(idempotency, RefusesAKeyOfAnotherRequest) {
  EXPECT_EQ(ask("a", with_key("k")).outcome, status());
  EXPECT_EQ(ask("b", with_key("k")).outcome.code(), status_code::invalid_argument);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, WaitsForTheFirstCall) {
  const auto both = run(twice("slow", with_key("k"), with_key("k")));
  for (const answer& a : both) EXPECT_EQ(a.number, 1) << a.outcome;
  const auto late = run(twice("slow", with_key("l"), with_key("l", within(2s))));
  EXPECT_EQ(late[0].number, 2);
  EXPECT_EQ(late[1].outcome.code(), status_code::deadline_exceeded);
  EXPECT_EQ(service_.calls, 2);
}

// What its client does not see has been done all the same.
TEST_P(idempotency, LetsAHandlerEndWhoseClientHasGone) {
  const auto both = run(twice("slow", with_key("k", within(3s)), with_key("k")));
  EXPECT_EQ(both[0].outcome.code(), status_code::deadline_exceeded);
  EXPECT_EQ(both[1].outcome, status());
  EXPECT_EQ(both[1].number, 1);
  EXPECT_EQ(ask("slow", with_key("k")).number, 1);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, LetsAHandlerEndWhoseConnectionIsLost) {
  channel other(rt(), address_, insecure());
  const auto program = [](channel& lost, answer& a) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(say(echo_stub(lost), "slow", with_key("k"), a));
    co_await sleep_for(1s);
    lost.close();
    co_await work.join();
  };
  answer first;
  run(program(other, first));
  EXPECT_EQ(first.outcome.code(), status_code::unavailable);
  EXPECT_EQ(ask("slow", with_key("k")).number, 1);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, ADrainWaitsForAHandlerWhoseClientHasGone) {
  EXPECT_EQ(ask("slow", with_key("k", within(3s))).outcome.code(), status_code::deadline_exceeded);
  const auto drain = [](server& of) -> task<duration> {
    const time_point began = coro::this_executor().now();
    co_await of.drain(60s);
    co_return coro::this_executor().now() - began;
  };
  const duration took = run(drain(*server_));
  EXPECT_GE(took, 6s) << "the handler takes 10 s";
  EXPECT_LE(took, 10s) << "it is not cancelled after 60 s";
}

// A reply is kept as a message, whatever the encoding of its call was.
TEST_P(idempotency, KnowsACallInEachEncoding) {
  call_options json;
  json.codec = &json_codec();
  EXPECT_EQ(ask("a", with_key("k")).number, 1);
  EXPECT_EQ(ask("a", with_key("k", json)).number, 1);
  EXPECT_EQ(ask("b", with_key("l", json)).number, 2);
  EXPECT_EQ(ask("b", with_key("l")).number, 2);
}

TEST_P(idempotency, StopsAHandlerThatDoesNotEndWithoutItsClient) {
  EXPECT_EQ(ask("endless", with_key("k", within(1s))).outcome.code(), status_code::deadline_exceeded);
  EXPECT_EQ(ask("endless", with_key("k", within(30s))).outcome.code(), status_code::deadline_exceeded)
      << "it runs";
  const answer late = ask("endless", with_key("k"));
  EXPECT_EQ(late.outcome.code(), status_code::cancelled);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, KeepsKeysOfClientsApart) {
  serve(memory_idempotency_store(), [](const server_context& context) {
    return std::string(context.metadata().find("user").value_or(""));
  });
  const auto by = [](const char* user) { return with_key("k").add_metadata("user", user); };
  EXPECT_EQ(ask("a", by("ada")).number, 1);
  EXPECT_EQ(ask("a", by("bob")).number, 2);
  EXPECT_EQ(ask("a", by("ada")).number, 1);
}

TEST_P(idempotency, KeepsFailuresUnlessTheHandlerAsksForARetry) {
  for (int i = 0; i < 2; ++i) {
    const answer a = ask("missing", with_key("m"));
    EXPECT_EQ(a.outcome, status(status_code::not_found, "call 1"));
    EXPECT_EQ(a.trailer, "1");
  }
  EXPECT_EQ(ask("throw", with_key("t")).outcome.code(), status_code::unknown);
  EXPECT_EQ(ask("throw", with_key("t")).outcome.code(), status_code::unknown);
  EXPECT_EQ(service_.calls, 2);
  EXPECT_EQ(ask("again", with_key("u")).outcome, status::unavailable("call 3"));
  EXPECT_EQ(ask("again", with_key("u")).outcome, status::unavailable("call 4"));
}

TEST_P(idempotency, RefusesLongKeys) {
  EXPECT_EQ(ask("a", with_key(std::string(idempotency_key_bytes_max, 'k'))).outcome, status());
  EXPECT_EQ(ask("a", with_key(std::string(idempotency_key_bytes_max + 1, 'k'))).outcome.code(),
            status_code::resource_exhausted);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, ForgetsTheOldestOutcomes) {
  serve(memory_idempotency_store({.calls_max = 2}));
  for (const char* key : {"1", "2", "3"}) EXPECT_EQ(ask("a", with_key(key)).outcome, status());
  EXPECT_EQ(ask("a", with_key("2")).number, 2);
  EXPECT_EQ(ask("a", with_key("1")).number, 4) << "the oldest of three";
  serve(memory_idempotency_store({.bytes_max = 100}));
  const std::string large(60, 'x');
  EXPECT_EQ(ask(large.c_str(), with_key("1")).number, 5);
  EXPECT_EQ(ask(large.c_str(), with_key("2")).number, 6);
  EXPECT_EQ(ask(large.c_str(), with_key("2")).number, 6);
  EXPECT_EQ(ask(large.c_str(), with_key("1")).number, 7);
}

TEST_P(idempotency, ForgetsOutcomesAfterAWhile) {
  serve(memory_idempotency_store({.kept = 10min}));
  EXPECT_EQ(ask("a", with_key("k")).number, 1);
  run(wait(9min));
  EXPECT_EQ(ask("a", with_key("k")).number, 1);
  run(wait(2min));
  EXPECT_EQ(ask("a", with_key("k")).number, 2);
}

TEST_P(idempotency, RefusesFurtherCallsWhileAllOfItsCallsRun) {
  serve(memory_idempotency_store({.calls_max = 1}));
  const auto both = run(twice("slow", with_key("1"), with_key("2")));
  EXPECT_EQ(both[0].outcome, status());
  EXPECT_EQ(both[1].outcome.code(), status_code::resource_exhausted);
}

// A store as a database has it: it takes time, and may fail.
class slow_store final : public idempotency_store {
 public:
  task<idempotency_claim> claim(const idempotent_call&) override {
    co_await sleep_for(2s);
    if (fails_to_claim) throw std::runtime_error("as planned");
    ++claimed;
    co_return idempotency_claim::answer::granted;
  }
  task<> record(const idempotent_call&, idempotent_outcome) override {
    co_await sleep_for(2s);
    if (fails_to_record) throw std::runtime_error("as planned");
    ++recorded;
  }
  task<> release(const idempotent_call&) override {
    co_await sleep_for(2s);
    ++released;
  }
  bool fails_to_claim = false;
  bool fails_to_record = false;
  int claimed = 0;
  int recorded = 0;
  int released = 0;
};

TEST_P(idempotency, RunsNothingIfTheStoreFails) {
  const auto store = std::make_shared<slow_store>();
  store->fails_to_claim = true;
  serve(store);
  EXPECT_EQ(ask("a", with_key("k")).outcome.code(), status_code::unknown);
  EXPECT_EQ(service_.calls, 0);
}

TEST_P(idempotency, SaysThatAnOutcomeIsUnknownIfItCannotBeKept) {
  const auto store = std::make_shared<slow_store>();
  store->fails_to_record = true;
  serve(store);
  EXPECT_EQ(ask("a", with_key("k")).outcome.code(), status_code::unknown);
  EXPECT_EQ(service_.calls, 1);
}

// Each claim that was granted is followed by its end.
TEST_P(idempotency, ReleasesACallThatEndsBeforeItsHandlerStarts) {
  const auto store = std::make_shared<slow_store>();
  serve(store);
  EXPECT_EQ(ask("a", with_key("k", within(1s))).outcome.code(), status_code::deadline_exceeded);
  run(wait(10s));
  EXPECT_EQ(store->claimed, 1);
  EXPECT_EQ(store->released, 1);
  EXPECT_EQ(service_.calls, 0);
  EXPECT_EQ(ask("a", with_key("k", within(3s))).outcome.code(), status_code::deadline_exceeded);
  run(wait(10s));
  EXPECT_EQ(store->recorded, 1);
}

// Loses the first answer, as a connection does that breaks.
class losing final : public server_interceptor {
 public:
  task<status> intercept(server_context&, next_handler next) override {
    const status s = co_await next();
    co_return ++calls == 1 ? status::unavailable("lost") : s;
  }
  int calls = 0;
};

TEST_P(idempotency, MakesARetryPolicySafe) {
  losing outside;
  serve(memory_idempotency_store(), borrowed(outside));
  channel_options options;
  options.interceptors = {idempotency_keys({"/echo.Echo/"})};
  options.service_config = service_config::parse(R"({"methodConfig": [{"name": [{}], "retryPolicy": {
    "maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "0.1s", "backoffMultiplier": 1,
    "retryableStatusCodes": ["UNAVAILABLE"]}}]})")
                               .value();
  channel_.emplace(rt(), address_, insecure(), options);
  EXPECT_EQ(ask("a", {}).number, 1);
  EXPECT_EQ(outside.calls, 2);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(idempotency, GivesEachCallAKeyOfItsOwnUnlessItHasOne) {
  channel_ = channel_->with_interceptors({idempotency_keys({"/echo.Echo/Say"})});
  EXPECT_EQ(ask("a", {}).number, 1);
  EXPECT_EQ(ask("a", {}).number, 2);
  EXPECT_EQ(ask("a", with_key("own")).number, 3);
  ASSERT_THAT(service_.keys, ::testing::SizeIs(3));
  EXPECT_NE(service_.keys[0], service_.keys[1]);
  for (const int i : {0, 1}) EXPECT_THAT(service_.keys[i], ::testing::MatchesRegex("\"[0-9a-f]{32}\""));
  EXPECT_EQ(service_.keys[2], "own");
  channel_.emplace(
      channel(rt(), address_, insecure()).with_interceptors({idempotency_keys({"/another.Service/"})}));
  EXPECT_EQ(ask("a", {}).number, 4);
  EXPECT_EQ(service_.keys[3], "");
}

TEST_P(idempotency, RefusesAListThatHasNoPathsAndNoStore) {
  EXPECT_THROW((void)idempotency_keys({"echo.Echo/Say"}), usage_error);
  for (const char* path : {"", "/", "//", "/echo.Echo", "echo.Echo/Say"})
    EXPECT_THROW((void)idempotent_calls(memory_idempotency_store(), {path}), usage_error) << path;
  EXPECT_THROW((void)idempotent_calls(memory_idempotency_store(), {"/echo.Echo/"}, nullptr), usage_error);
  EXPECT_THROW((void)idempotent_calls(nullptr, {"/echo.Echo/Say"}), usage_error);
}

}  // namespace
}  // namespace coracle::testing_support::idempotency_test
