// Equal calls that share one (single_flight()).
#include "support/echo_fixture.hpp"

#include "coracle/client/single_flight.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace coracle::testing_support::single_flight_test {
namespace {

using namespace std::chrono_literals;

// Answers when it is told to, with the number of the call.
class waiting_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    context.trailing_metadata().add("x-served", "yes");
    if (request.text() == "relay") co_return co_await echo_stub(*onward).Say(make_text("a"));
    const int number = ++calls;
    if (request.text() == "hang") co_await sleep_for(1h);
    if (!is_open) co_await open;
    if (request.text() == "fail") co_return status(status_code::not_found, "call " + std::to_string(number));
    echo::Text answer = request;
    answer.set_count(number);
    co_return answer;
  }
  std::atomic<int> calls = 0;
  bool is_open = true;
  event<> open;
  const channel* onward = nullptr;
};

class shared_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return service_; }
  void SetUp() override {
    echo_fixture::SetUp();
    if (IsSkipped()) return;
    share({"/echo.Echo/Say"});
  }
  void share(std::vector<std::string> methods) {
    interceptor_ = single_flight(std::move(methods));
    channel_.emplace(channel(rt(), address_, insecure()).with_interceptors({interceptor_}));
  }
  struct answer {
    status outcome;
    int number = 0;
    duration took{};
  };
  static task<> say(echo_stub s, echo::Text request, call_options with, answer& into) {
    const time_point began = coro::this_executor().now();
    const auto reply = co_await s.Say(request, with);
    into.took = coro::this_executor().now() - began;
    into.outcome = reply.status();
    if (reply.ok()) into.number = reply->count();
  }
  struct asked {
    asked(const char* t, call_options o = {},
          const channel* c = nullptr)  // NOLINT(google-explicit-constructor)
        : request(text(t)), options(std::move(o)), by(c) {}
    echo::Text request;
    call_options options;
    const channel* by;  // null: the one that shares calls
  };
  // Begins the calls while the service waits, and lets it answer then.
  task<std::vector<answer>> together(std::vector<asked> calls) {
    service_.is_open = false;
    std::vector<answer> all(calls.size());
    scope work{co_await coro::this_environment()};
    for (std::size_t i = 0; i < calls.size(); ++i)
      work.spawn(
          say(calls[i].by ? echo_stub(*calls[i].by) : stub(), calls[i].request, calls[i].options, all[i]));
    co_await sleep_for(100ms);  // of virtual time: all have been sent, or wait
    service_.is_open = true;
    service_.open.set();
    co_await work.join();
    service_.open.reset();
    co_return all;
  }
  task<> cancel_the_first() {
    service_.is_open = false;
    answer leads;
    answer follows;
    scope first{co_await coro::this_environment()};
    scope second{co_await coro::this_environment()};
    first.spawn(say(stub(), text("a"), {}, leads));
    co_await sleep_for(100ms);
    second.spawn(say(stub(), text("a"), {}, follows));
    co_await sleep_for(100ms);
    EXPECT_EQ(service_.calls, 1);
    first.request_stop();
    co_await first.join();
    EXPECT_EQ(leads.outcome.code(), status_code::cancelled);
    co_await sleep_for(100ms);
    EXPECT_EQ(service_.calls, 2);
    service_.is_open = true;
    service_.open.set();
    co_await second.join();
    EXPECT_EQ(follows.outcome, status());
    EXPECT_EQ(follows.number, 2);
  }
  static std::vector<int> numbers(const std::vector<answer>& of) {
    std::vector<int> all;
    for (const answer& a : of) all.push_back(a.outcome.ok() ? a.number : -1);
    return all;
  }

  std::shared_ptr<client_interceptor> interceptor_;
  waiting_service service_;
};
INSTANTIATE_TEST_SUITE_P(Simulated, shared_calls, simulation_over_tcp, echo_fixture::case_name);

TEST_P(shared_calls, AreSentOnceAndAnswerAll) {
  const auto all = run(together({"a", "a", "a"}));
  EXPECT_THAT(numbers(all), ::testing::ElementsAre(1, 1, 1));
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(shared_calls, AreThoseInProgressOnly) {
  for (int i = 1; i <= 3; ++i) {
    answer one;
    run(say(stub(), text("a"), {}, one));
    EXPECT_EQ(one.number, i);
  }
}

TEST_P(shared_calls, ShareFailures) {
  const auto all = run(together({"fail", "fail"}));
  for (const answer& a : all) EXPECT_EQ(a.outcome, status(status_code::not_found, "call 1"));
}

TEST_P(shared_calls, KeepTheDeadlinesOfTheirChannel) {
  channel_options options;
  options.calls.timeout = 1s;
  options.interceptors = {interceptor_};
  channel_.emplace(rt(), address_, insecure(), options);
  const auto all = run(together({"hang", "hang", "hang"}));
  for (const answer& a : all) {
    EXPECT_EQ(a.outcome.code(), status_code::deadline_exceeded);
    EXPECT_LT(a.took, 1100ms);
  }
}

// Channels may differ in the credentials that their calls have.
TEST_P(shared_calls, AreOfOneChannel) {
  const channel same = channel_->with_interceptors({interceptor_});
  channel_options options;
  options.interceptors = {interceptor_};
  const channel other(rt(), address_, insecure(), options);
  const auto all = run(together({"a", {"a", {}, &same}, {"a", {}, &other}}));
  EXPECT_EQ(service_.calls, 2);
  EXPECT_EQ(all[0].number, all[1].number);
}

TEST_P(shared_calls, PassOnTheSameCriticalityAndBaggage) {
  const channel direct(rt(), address_, insecure());
  service_.onward = &*channel_;
  call_options low;
  low.criticality = criticality::sheddable;
  call_options tenant;
  tenant.add_metadata("baggage", "tenant=a");
  call_options traced;
  traced.add_metadata("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  const auto all = run(together({{"relay", {}, &direct},
                                 {"relay", low, &direct},
                                 {"relay", tenant, &direct},
                                 {"relay", traced, &direct}}));
  EXPECT_EQ(service_.calls, 3);
  EXPECT_EQ(all[0].number, all[3].number);
}

// What makes a call fail at once must not reach the others.
TEST_P(shared_calls, HaveMetadataThatIsValid) {
  call_options bad;
  bad.add_metadata("not a key", "x");
  const auto all = run(together({{"a", bad}, "a"}));
  EXPECT_EQ(all[0].outcome.code(), status_code::internal);
  EXPECT_EQ(all[1].outcome, status());
}

TEST_P(shared_calls, HaveTheSameRequestAndOptions) {
  call_options tenant;
  tenant.add_metadata("tenant", "a");
  call_options low;
  low.criticality = criticality::sheddable;
  call_options waiting;
  waiting.wait_for_ready = true;
  call_options labelled = within(1h);
  labelled.telemetry_label = "b";
  const auto all = run(together({"a", "b", {"a", tenant}, {"a", low}, {"a", waiting}, "a", {"a", labelled}}));
  EXPECT_EQ(service_.calls, 5);
  EXPECT_EQ(all[0].number, all[5].number);
  EXPECT_EQ(all[0].number, all[6].number);
}

TEST_P(shared_calls, GoOnWhenTheOneThatWasSentIsCancelled) { run(cancel_the_first()); }

TEST_P(shared_calls, KeepTheirOwnDeadlines) {
  const auto all = run(together({{"hang", within(2s)}, {"hang", within(1s)}, {"hang", within(3s)}}));
  for (const answer& a : all) EXPECT_EQ(a.outcome.code(), status_code::deadline_exceeded);
  EXPECT_LT(all[1].took, 1100ms);
  EXPECT_LT(all[0].took, 2100ms);
  EXPECT_LT(all[2].took, 3100ms);
  EXPECT_EQ(service_.calls, 2) << "the last one was sent when the first had ended";
}

TEST_P(shared_calls, HaveNoLargeRequests) {
  const std::string large(single_flight_request_bytes_max, 'x');
  const auto all = run(together({large.c_str(), large.c_str()}));
  EXPECT_EQ(service_.calls, 2);
}

TEST_P(shared_calls, AreOfTheMethodsThatWereNamed) {
  share({"/echo.Echo/Other", "/another.Service/"});
  const auto all = run(together({"a", "a"}));
  EXPECT_EQ(service_.calls, 2);
  EXPECT_THROW((void)single_flight({"echo.Echo/Say"}), usage_error);
}

TEST_P(shared_calls, AreOfAllMethodsOfAService) {
  share({"/echo.Echo/"});
  const auto all = run(together({"a", "a"}));
  EXPECT_EQ(service_.calls, 1);
}

}  // namespace
}  // namespace coracle::testing_support::single_flight_test
