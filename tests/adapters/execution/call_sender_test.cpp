// Calls of every kind as senders: their results, their ends from both sides, and what they may outlive.
#include "observer.hpp"
#include "support/echo_fixture.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::call_sender_test {
namespace {

using namespace std::chrono_literals;
using text_or_end = std::optional<echo::Text>;

class call_senders : public echo_fixture {
 protected:
  static bool at_end(const seen<text_or_end>& end) { return end.value && !*end.value; }
  // Starts a sender, runs the runtime until it has completed, and returns how.
  template <class T, class Sender>
  seen<T> complete(Sender sender) {
    seen<T> end;
    const running r(std::move(sender), observer(end));
    rt().run();
    EXPECT_EQ(end.completions, 1);
    return end;
  }
  // The failure of the second of two operations that are made of one sender.
  template <class T, class Sender>
  std::optional<status> connected_twice(Sender sender) {
    EXPECT_TRUE(complete<T>(std::move(sender)).value);
    return complete<T>(std::move(sender)).failure;  // NOLINT(bugprone-use-after-move): the misuse
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, call_senders, every_world_and_link, echo_fixture::case_name);

// With sync_wait(), which blocks the test's thread, over a runtime with a thread.
class blocking_senders : public echo_fixture {
 protected:
  void SetUp() override {
    echo_fixture::SetUp();
    if (!IsSkipped()) rt().start();
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, blocking_senders,
                         testing::Combine(kernel_kinds,
                                          testing::Values(link_kind::tcp, link_kind::in_process)),
                         echo_fixture::case_name);

TEST_P(call_senders, AUnaryCallCompletesWithItsReply) {
  const seen<echo::Text> end = complete<echo::Text>(as_sender(stub().Say(text("hello", 3))));
  ASSERT_TRUE(end.value);
  EXPECT_EQ(end.value->text(), "hello");
  EXPECT_EQ(end.on, &rt().at(0));
}

TEST_P(call_senders, AFailedCallCompletesWithItsStatus) {
  const seen<echo::Text> end = complete<echo::Text>(as_sender(stub().Misbehave(text("status"))));
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code(), status_code::not_found);
  EXPECT_EQ(end.failure->details(), "details");
}

TEST_P(call_senders, ACallOutlivesItsRequestItsStubAndItsChannel) {
  seen<echo::Text> end;
  {
    auto request = std::make_unique<echo::Text>(text("borrowed", 1));
    auto sender = as_sender(stub().Say(*request));
    request.reset();
    const running r(std::move(sender), observer(end));
    channel_.reset();
    rt().run();
  }
  ASSERT_TRUE(end.value);
  EXPECT_EQ(end.value->text(), "borrowed");
}

TEST_P(call_senders, ADeadlineOfTheCallIsAStatus) {
  const seen<echo::Text> end = complete<echo::Text>(as_sender(stub().Misbehave(text("hang"), within(5ms))));
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code(), status_code::deadline_exceeded);
}

TEST_P(call_senders, ADeadlineOfTheReceiverIsThatOfTheCall) {
  seen<echo::Text> asked;
  seen<echo::Text> late;
  const running a(as_sender(stub().Misbehave(text("deadline"))),
                  observer(asked, ex::prop(get_deadline, rt().now() + 100s)));
  const running b(as_sender(stub().Misbehave(text("hang"))),
                  observer(late, ex::prop(get_deadline, rt().now() + 5ms)));
  rt().run();
  ASSERT_TRUE(asked.value);
  EXPECT_GT(asked.value->count(), 10'000);
  EXPECT_LE(asked.value->count(), 100'000);
  ASSERT_TRUE(late.failure);
  EXPECT_EQ(late.failure->code(), status_code::deadline_exceeded);
}

TEST_P(call_senders, AStopOfTheReceiverCancelsTheCallAndItsHandler) {
  ex::inplace_stop_source stop;
  seen<echo::Text> end;
  const running r(as_sender(stub().Misbehave(text("hang"))),
                  observer(end, ex::prop(ex::get_stop_token, stop.get_token())));
  rt().spawn_on(rt().at(0), stop_in(5ms, stop));
  rt().spawn_on(rt().at(0), [](echo_service& service) -> task<> {
    while (service.stopped == 0) co_await sleep_for(1ms);
  }(service_));
  rt().run();
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(service_.stopped, 1);
}

TEST_P(call_senders, AStopBeforeTheStartSendsNothing) {
  ex::inplace_stop_source stop;
  stop.request_stop();
  seen<echo::Text> end;
  const running r(as_sender(stub().Misbehave(text("hang"))),
                  observer(end, ex::prop(ex::get_stop_token, stop.get_token())));
  rt().run();
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(service_.stopped, 0);
}

TEST_P(call_senders, AServerStreamIsReadToItsEnd) {
  auto call = stub().Repeat(text("fail", 2));
  for (int i = 0; i < 2; ++i) {
    const seen<text_or_end> one = complete<text_or_end>(as_sender(call.next()));
    ASSERT_TRUE(one.value && *one.value);
    EXPECT_EQ((*one.value)->count(), i);
  }
  const seen<text_or_end> last = complete<text_or_end>(as_sender(call.next()));
  EXPECT_EQ(last.failure, status::not_found("after the replies"));
  EXPECT_EQ(complete<void>(as_sender(call.finish())).failure, status::not_found("after the replies"));

  auto good = stub().Repeat(text("good", 1));
  echo::Text into;
  EXPECT_EQ(complete<bool>(as_sender(good.read(into))).value, true);
  EXPECT_EQ(into.text(), "good");
  EXPECT_EQ(complete<bool>(as_sender(good.read(into))).value, false);
  EXPECT_TRUE(complete<void>(as_sender(good.finish())).value);
}

TEST_P(call_senders, AClientStreamCompletesWithItsReply) {
  auto call = stub().Collect();
  EXPECT_TRUE(complete<void>(as_sender(call.start())).value);
  EXPECT_TRUE(complete<void>(as_sender(call.write(text("a")))).value);
  EXPECT_TRUE(complete<void>(as_sender(call.write_last(text("b")))).value);
  const seen<echo::Text> end = complete<echo::Text>(as_sender(call.finish()));
  ASSERT_TRUE(end.value);
  EXPECT_EQ(end.value->text(), "ab");
}

TEST_P(call_senders, ABidiStreamIsWrittenAndReadAtOnce) {
  auto call = stub().Chat();
  EXPECT_TRUE(complete<void>(as_sender(call.start())).value);
  auto both = ex::when_all(as_sender(call.write(text("hello"))), as_sender(call.next()));
  const seen<text_or_end> read = complete<text_or_end>(std::move(both));
  ASSERT_TRUE(read.value && *read.value);
  EXPECT_EQ((*read.value)->text(), "hello");
  EXPECT_TRUE(complete<void>(as_sender(call.wait_for_initial_metadata())).value);
  EXPECT_TRUE(complete<void>(as_sender(call.writes_done())).value);
  EXPECT_TRUE(at_end(complete<text_or_end>(as_sender(call.next()))));
  EXPECT_TRUE(complete<void>(as_sender(call.finish())).value);
}

TEST_P(call_senders, AReadThatIsStoppedTakesNoMessage) {
  auto call = stub().Chat();
  ex::inplace_stop_source stop;
  seen<text_or_end> stopped;
  const running r(as_sender(call.next()), observer(stopped, ex::prop(ex::get_stop_token, stop.get_token())));
  rt().spawn_on(rt().at(0), stop_in(2ms, stop));
  rt().run();
  EXPECT_TRUE(stopped.stopped);
  EXPECT_TRUE(complete<void>(as_sender(call.write(text("kept")))).value);
  const seen<text_or_end> next = complete<text_or_end>(as_sender(call.next()));
  ASSERT_TRUE(next.value && *next.value);
  EXPECT_EQ((*next.value)->text(), "kept");
}

TEST_P(call_senders, AStreamThatIsDestroyedEndsItsOperations) {
  seen<text_or_end> read;
  auto call = std::make_unique<bidi_call<echo::Text, echo::Text>>(stub().Chat());
  const running r(as_sender(call->next()), observer(read));
  call.reset();
  rt().run();
  ASSERT_TRUE(read.failure);  // no receiver has requested it
  EXPECT_EQ(read.failure->code(), status_code::cancelled);
}

TEST_P(call_senders, AnOperationOfACallThatHasEndedIsItsStatus) {
  auto call = stub().Chat();
  EXPECT_TRUE(complete<void>(as_sender(call.finish())).value);
  // The status is OK, with which a write cannot end.
  EXPECT_EQ(
      complete<void>(as_sender(call.write(text("late")))).failure,
      status::cancelled("the call of /echo.Echo/Chat takes no message any more: it has ended, or its last "
                        "message was written"));
  EXPECT_TRUE(at_end(complete<text_or_end>(as_sender(call.next()))));
  EXPECT_TRUE(complete<void>(as_sender(call.finish())).value);
  // Each operation of a call that has failed completes with that status, every time.
  const status failed = status::not_found("after the replies");
  auto failing = stub().Repeat(text("fail", 0));
  EXPECT_EQ(complete<void>(as_sender(failing.finish())).failure, failed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(complete<text_or_end>(as_sender(failing.next())).failure, failed);
    EXPECT_EQ(complete<void>(as_sender(failing.finish())).failure, failed);
  }
  EXPECT_EQ(complete<void>(as_sender(failing.wait_for_initial_metadata())).failure, failed);
}

TEST_P(call_senders, ASenderThatIsConnectedTwiceIsAnErrorThatNamesTheCall) {
  const status unary =
      status::internal("the call of /echo.Echo/Say was started twice: start each operation once");
  EXPECT_EQ(connected_twice<echo::Text>(as_sender(stub().Say(text("owned")))), unary);
  const echo::Text borrowed = text("borrowed");
  EXPECT_EQ(connected_twice<echo::Text>(as_sender(stub().Say(borrowed))), unary);
  auto chat = stub().Chat();
  EXPECT_EQ(
      connected_twice<void>(as_sender(chat.write(text("once")))),
      status::internal("the call of /echo.Echo/Chat has a write that was started twice: start each operation "
                       "once"));
}

TEST_P(call_senders, TwoReadsAtOnceAreAnErrorThatNamesTheCall) {
  auto chat = stub().Chat();
  seen<text_or_end> first;
  seen<text_or_end> second;
  const running a(as_sender(chat.next()), observer(first));
  const running b(as_sender(chat.next()), observer(second));
  rt().run();
  const status misuse = status::internal(
      "the call of /echo.Echo/Chat has two concurrent reads: let one task read and pass the messages on");
  EXPECT_EQ(first.failure, misuse);
  EXPECT_EQ(second.failure, misuse);
}

TEST_P(call_senders, AServerThatStopsEndsTheCallWithAStatus) {
  seen<echo::Text> end;
  const running r(as_sender(stub().Misbehave(text("hang"))), observer(end));
  rt().spawn_on(rt().at(0), [](server& s) -> task<> {
    co_await sleep_for(5ms);
    co_await s.drain(0ms);
  }(*server_));
  rt().run();
  ASSERT_TRUE(end.failure);
}

TEST_P(call_senders, ATaskAwaitsSendersOfCalls) {
  auto body = [](echo_stub s) -> task<std::string> {
    auto both = ex::when_all(as_sender(s.Say(text("a"))), as_sender(s.Say(text("b")))) |
                ex::then([](const echo::Text& a, const echo::Text& b) { return a.text() + b.text(); });
    co_return co_await std::move(both);
  };
  EXPECT_EQ(run(body(stub())), "ab");
}

TEST_P(call_senders, AFailedCallStopsTheOtherCallsOfWhenAll) {
  auto body = [](echo_stub s) -> task<status> {
    auto both = ex::when_all(as_sender(s.Misbehave(text("hang"))), as_sender(s.Misbehave(text("status"))));
    try {
      co_await std::move(both);
    } catch (const status_error& e) {
      co_return e.status();
    }
    co_return status();
  };
  EXPECT_EQ(run(body(stub())).code(), status_code::not_found);
}

TEST_P(blocking_senders, AProgramWithoutCoroutinesMakesCalls) {
  const auto [reply] = ex::sync_wait(as_sender(stub().Say(text("hello")))).value();
  EXPECT_EQ(reply.text(), "hello");
  // The second call is made of the reply to the first.
  const auto [again] =
      ex::sync_wait(as_sender(stub().Say(text("once"))) | ex::let_value([&](echo::Text& first) {
                      first.mutable_text()->append(" more");
                      return as_sender(stub().Say(first));
                    }))
          .value();
  EXPECT_EQ(again.text(), "once more");
  EXPECT_THROW(ex::sync_wait(as_sender(stub().Misbehave(text("status")))), status);
  const auto [handled] = ex::sync_wait(as_sender(stub().Misbehave(text("status"))) |
                                       ex::let_error([]<class Error>(Error& error) {
                                         echo::Text instead;
                                         if constexpr (std::is_same_v<Error, status>)
                                           instead.set_text(name_of(error.code()).data());
                                         return ex::just(std::move(instead));
                                       }))
                             .value();
  EXPECT_EQ(handled.text(), "NOT_FOUND");
}

TEST_P(blocking_senders, StopsFromOtherThreadsMeetTheEndsOfCalls) {
  for (int i = 0; i < 100; ++i) {
    ex::inplace_stop_source stop;
    std::thread stopper([&] {
      for (int spins = 0; spins < i % 10; ++spins) std::this_thread::yield();
      stop.request_stop();
    });
    auto call =
        ex::write_env(as_sender(stub().Say(text("hello"))), ex::prop(ex::get_stop_token, stop.get_token()));
    const auto ended = ex::sync_wait(std::move(call));
    EXPECT_TRUE(!ended || std::get<0>(*ended).text() == "hello");
    stopper.join();
  }
}

}  // namespace
}  // namespace coracle::testing_support::call_sender_test
