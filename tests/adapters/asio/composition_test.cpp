// Calls in the compositions of Asio: groups, alternatives and users' operations; cancellation; and misuse.
#include "asio_fixture.hpp"

#include "coracle/asio/tokens.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/parallel_group.hpp>
#else
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/co_composed.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace coracle::testing_support::asio_tests::composition_test {
namespace {

using namespace std::chrono_literals;
namespace experimental = asio::experimental;

class composition : public asio_fixture {
 protected:
  using read_result = result<std::optional<echo::Text>>;

  template <class T>
  T finished(asio::awaitable<T> body) {
    std::optional<T> got;
    std::exception_ptr failure;
    asio::co_spawn(io, std::move(body), [&](std::exception_ptr error, T value) {
      failure = error;
      got.emplace(std::move(value));
    });
    run_until([&] { return got.has_value(); });
    if (failure) std::rethrow_exception(failure);
    return *std::move(got);
  }
  // Runs until a call that was made before has reached its handler.
  void run_until_handled() {
    bool reached = false;
    async_wait(stub().SayAtOnce(text("hello")), [&](const result<echo::Text>&) { reached = true; });
    run_until([&] { return reached; });
  }
};
INSTANTIATE_TEST_SUITE_P(On, composition, kernel_kinds, asio_fixture::case_name);

TEST_P(composition, AReadThatLosesTakesNoMessage) {
  const auto body = [](asio::io_context& on, echo_stub stub) -> asio::awaitable<std::string> {
    using namespace experimental::awaitable_operators;
    auto chat = stub.Chat();
    std::string words;
    for (const char* word : {"one", "two", "three"}) {
      asio::steady_timer timer(on, 1ms);
      const auto first =
          co_await (async_wait(chat.next(), asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
      words += first.index() == 1 ? "timer " : "read ";
      const auto written = co_await async_wait(chat.write(text(word)), asio::use_awaitable);
      const auto read = co_await async_wait(chat.next(), asio::use_awaitable);
      words += written.ok() ? read.value()->text() + " " : "broken ";
    }
    co_return words;
  };
  EXPECT_EQ(finished(body(io, stub())), "timer one timer two timer three ");
}

TEST_P(composition, BothOfTwoCalls) {
  const auto body = [](echo_stub stub) -> asio::awaitable<std::string> {
    using namespace experimental::awaitable_operators;
    auto [first, second] = co_await (async_wait(stub.Say(text("one")), asio::use_awaitable) &&
                                     async_wait(stub.Say(text("two")), asio::use_awaitable));
    co_return first.value().text() + second.value().text();
  };
  EXPECT_EQ(finished(body(stub())), "onetwo");
}

TEST_P(composition, AGroupWaitsForAll) {
  std::optional<std::string> words;
  experimental::make_parallel_group(async_wait(stub().Say(text("one")), asio_tokens::deferred),
                                    async_wait(stub().Say(text("two")), asio_tokens::deferred),
                                    async_wait(here(), sleep_until(rt().now() + 1ms), asio_tokens::deferred))
      .async_wait(experimental::wait_for_all(), [&](std::array<std::size_t, 3>, const result<echo::Text>& one,
                                                    const result<echo::Text>& two, error_code timer) {
        EXPECT_FALSE(timer);
        words = one.value().text() + two.value().text();
      });
  run_until([&] { return words.has_value(); });
  EXPECT_EQ(words, "onetwo");
}

TEST_P(composition, AGroupCancelsTheCallThatIsNotNeeded) {
  bool done = false;
  experimental::make_parallel_group(async_wait(stub().Misbehave(text("hang")), asio_tokens::deferred),
                                    async_wait(stub().Say(text("hello")), asio_tokens::deferred))
      .async_wait(experimental::wait_for_one(),
                  [&](std::array<std::size_t, 2> order, const result<echo::Text>& slow,
                      const result<echo::Text>& fast) {
                    EXPECT_EQ(order[0], 1u);
                    EXPECT_EQ(slow.status().code(), status_code::cancelled);
                    EXPECT_TRUE(fast.ok());
                    done = true;
                  });
  run_until([&] { return done; });
}

TEST_P(composition, EachKindOfCancellationReachesWhatHonoursIt) {
  asio::cancellation_signal cancel_call;
  asio::cancellation_signal cancel_read;
  asio::cancellation_signal cancel_timer;
  std::optional<result<echo::Text>> answer;
  std::optional<read_result> read;
  std::optional<error_code> slept;
  auto chat = stub().Chat();
  async_wait(
      stub().Misbehave(text("hang")),
      asio::bind_cancellation_slot(cancel_call.slot(), [&](result<echo::Text> r) { answer = std::move(r); }));
  async_wait(chat.next(), asio::bind_cancellation_slot(cancel_read.slot(),
                                                       [&](read_result r) { read.emplace(std::move(r)); }));
  async_wait(here(), sleep_until(rt().now() + 1h),
             asio::bind_cancellation_slot(cancel_timer.slot(), [&](error_code e) { slept = e; }));
  run_until_handled();
  cancel_read.emit(asio::cancellation_type::total);
  cancel_timer.emit(asio::cancellation_type::partial);
  cancel_call.emit(asio::cancellation_type::total);  // does not undo what the server has done
  cancel_call.emit(asio::cancellation_type::partial);
  run_until([&] { return read && slept; });
  EXPECT_EQ(read->status().code(), status_code::cancelled);
  EXPECT_EQ(*slept, asio::error::operation_aborted);
  run_until_handled();
  EXPECT_FALSE(answer);
  cancel_call.emit(asio::cancellation_type::terminal);
  run_until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->status().code(), status_code::cancelled);
  // The stream continues.
  std::optional<std::string> word;
  async_wait(chat.write(text("after")), asio::detached);
  async_wait(chat.next(), [&](const read_result& r) { word = r.value()->text(); });
  run_until([&] { return word.has_value(); });
  EXPECT_EQ(word, "after");
}

TEST_P(composition, ACancelledTaskIsAbortedAsAsioDoes) {
  const auto sleeping = []() -> task<int> {
    co_await sleep_for(1h);
    co_return 1;
  };
  asio::cancellation_signal cancel;
  std::exception_ptr error;
  async_wait(here(), sleeping(),
             asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr e, int) { error = e; }));
  run_until_handled();
  cancel.emit(asio::cancellation_type::total);  // what it leaves is not known, so that only terminal counts
  run_until_handled();
  EXPECT_FALSE(error);
  cancel.emit(asio::cancellation_type::terminal);
  run_until([&] { return static_cast<bool>(error); });
  try {
    std::rethrow_exception(error);
  } catch (const system_error& e) {
    EXPECT_EQ(e.code(), asio::error::operation_aborted);
  }
}

TEST_P(composition, AStoppedTaskCancelsAnOperationOfAsio) {
  const auto sleeping = [](asio::io_context& on) -> task<> {
    asio::steady_timer hour(on, 1h);
    co_await hour.async_wait(use_task);
  };
  const auto body = [](task<> inner, std::optional<status>& ended) -> task<> {
    with_timeout limited(1ms, std::move(inner));
    ended = co_await std::move(limited);
  };
  std::optional<status> ended;
  rt().spawn(body(sleeping(io), ended));
  run_until([&] { return ended.has_value(); });
  EXPECT_EQ(ended->code(), status_code::deadline_exceeded);
}

// A user's operation that is made of calls: asks again until the server answers.
struct ask_twice {
  echo_stub stub;
  int asked = 0;
  template <class Self>
  void operator()(Self& self) {
    async_wait(stub.Misbehave(text("status")), std::move(self));
  }
  template <class Self>
  void operator()(Self& self, const result<echo::Text>& answer) {
    if (++asked < 2) return async_wait(stub.Say(text("at last")), std::move(self));
    self.complete(answer.status(), asked);
  }
};
template <class Token>
auto async_ask(asio::io_context& on, echo_stub stub, Token&& token) {
  return asio::async_compose<Token, void(status, int)>(ask_twice{std::move(stub)}, token, on);
}

TEST_P(composition, AComposedOperationOfAUser) {
  std::optional<status> outcome;
  async_ask(io, stub(), [&](status s, int asked) {
    EXPECT_EQ(asked, 2);
    outcome = std::move(s);
  });
  run_until([&] { return outcome.has_value(); });
  EXPECT_EQ(*outcome, status());
}

#if !defined(CORACLE_STANDALONE_ASIO)
// The same as a coroutine: Boost 1.81 has co_composed, standalone Asio 1.22 has not. g++ 12 takes the
// operator new of its promise for another one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
template <class Token>
auto async_ask_in_coroutine(asio::io_context& on, echo_stub stub, Token&& token) {
  return asio::async_initiate<Token, void(std::string)>(
      experimental::co_composed<void(std::string)>(
          [](auto state, echo_stub s) -> void {
            state.reset_cancellation_state(asio::enable_terminal_cancellation());
            auto refused = co_await async_wait(s.Misbehave(text("status")), asio::deferred);
            auto answer = co_await async_wait(s.Say(text("at last")), asio::deferred);
            std::string outcome = refused.ok() ? "not refused" : answer.value().text();
            co_return {std::move(outcome)};
          },
          on),
      token, std::move(stub));
}

#pragma GCC diagnostic pop

TEST_P(composition, AComposedCoroutineOfAUser) {
  std::optional<std::string> outcome;
  async_ask_in_coroutine(io, stub(), [&](std::string s) { outcome = std::move(s); });
  run_until([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome, "at last");
}
#endif

TEST_P(composition, AnExceptionOfAHandlerLeavesTheRunOfItsExecutor) {
  async_wait(stub().Say(text("hello")),
             asio::bind_executor(io, [](const result<echo::Text>&) { throw std::runtime_error("planned"); }));
  EXPECT_THROW(run_until([] { return false; }), std::runtime_error);
  run_until_handled();  // everything continues
}

TEST_P(composition, AnExceptionOfAHandlerWithoutExecutorStopsTheRuntime) {
  async_wait(stub().Say(text("hello")),
             [](const result<echo::Text>&) { throw std::runtime_error("planned"); });
  EXPECT_THROW(run_until([] { return false; }), std::runtime_error);
  EXPECT_TRUE(rt().stopping());
}

TEST_P(composition, AHandlerMayDestroyItsStream) {
  auto chat = std::make_unique<bidi_call<echo::Text, echo::Text>>(stub().Chat());
  bool read = false;
  async_wait(chat->write(text("hello")), asio::detached);
  async_wait(chat->next(), [&](const read_result& r) {
    read = r.ok();
    chat.reset();
  });
  run_until([&] { return !chat; });
  EXPECT_TRUE(read);
}

TEST_P(composition, AnOperationOnAFinishedCallGivesItsStatus) {
  auto chat = stub().Chat();
  std::optional<status> ended;
  async_wait(chat.finish(), [&](status s) { ended = std::move(s); });
  run_until([&] { return ended.has_value(); });
  std::optional<status> late;
  async_wait(chat.write(text("late")), [&](status s) { late = std::move(s); });
  run_until([&] { return late.has_value(); });
  EXPECT_EQ(*ended, status());
  EXPECT_EQ(*late,
            status::cancelled("the call of /echo.Echo/Chat takes no message any more: it has ended, or its "
                              "last message was written"));
  std::optional<read_result> nothing;
  async_wait(chat.next(), [&](read_result r) { nothing.emplace(std::move(r)); });
  run_until([&] { return nothing.has_value(); });
  ASSERT_TRUE(nothing->ok());
  EXPECT_FALSE(nothing->value());
}

TEST_P(composition, AnOperationThatIsStartedTwiceIsAnErrorThatNamesTheCall) {
  std::optional<result<echo::Text>> first;
  std::optional<result<echo::Text>> second;
  auto call = stub().Say(text("once"));
  async_wait(std::move(call), [&](result<echo::Text> r) { first = std::move(r); });
  async_wait(std::move(call), [&](result<echo::Text> r) { second = std::move(r); });  // NOLINT: the misuse
  run_until([&] { return first && second; });
  EXPECT_EQ(first->value().text(), "once");
  const status misuse =
      status::internal("the call of /echo.Echo/Say was started twice: start each operation once");
  EXPECT_EQ(second->status(), misuse);
  // The object of a lazy token.
  auto later = async_wait(stub().Say(text("once")), asio_tokens::deferred);
  first.reset();
  second.reset();
  std::move(later)([&](result<echo::Text> r) { first = std::move(r); });
  std::move(later)([&](result<echo::Text> r) { second = std::move(r); });  // NOLINT: the misuse
  run_until([&] { return first && second; });
  EXPECT_TRUE(first->ok());
  EXPECT_EQ(second->status(), misuse);
}

TEST_P(composition, TwoReadsAtOnceAreAnErrorThatNamesTheCall) {
  auto chat = stub().Chat();
  std::optional<status> first;
  std::optional<status> second;
  async_wait(chat.next(), [&](const read_result& r) { first = r.status(); });
  async_wait(chat.next(), [&](const read_result& r) { second = r.status(); });
  run_until([&] { return first && second; });
  const status misuse = status::internal(
      "the call of /echo.Echo/Chat has two concurrent reads: let one task read and pass the messages on");
  EXPECT_EQ(*first, misuse);
  EXPECT_EQ(*second, misuse);
}

// A completion handler that is kept, as a handler by callback keeps it, and called twice.
TEST_P(composition, AHandlerOfUseTaskIsCalledOnce) {
  std::string failure;
  const auto body = [](std::string& into) -> task<int> {
    auto answer = asio::async_initiate<const use_task_t, void(int)>(
        [&into](auto handler) {
          handler(1);
          try {
            handler(2);
          } catch (const usage_error& e) {
            into = e.what();
          }
        },
        use_task);
    co_return co_await std::move(answer);
  };
  std::optional<int> answered;
  async_wait(here(), body(failure), [&](std::exception_ptr, int n) { answered = n; });
  run_until([&] { return answered.has_value(); });
  EXPECT_EQ(answered, 1);
  EXPECT_NE(failure.find("a completion handler was called twice"), std::string::npos) << failure;
}

// An io_context that is destroyed drops the handlers that it has not called.
TEST_P(composition, AHandlerThatWasNotCalledIsDestroyedWithItsContext) {
  auto other = std::make_unique<asio::io_context>();
  auto kept = std::make_shared<int>(1);
  bool answered = false;
  async_wait(stub().Say(text("hello")), asio::bind_executor(*other, [kept](const result<echo::Text>&) {}));
  async_wait(stub().Say(text("hello")), [&](const result<echo::Text>&) { answered = true; });
  run_until([&] { return answered; });
  run_until_handled();
  EXPECT_EQ(kept.use_count(), 2);
  other.reset();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_P(composition, AnOperationOfADestroyedContextEndsItsTask) {
  auto other = std::make_unique<asio::io_context>();
  const auto body = [](asio::io_context& on, std::string& failure) -> task<> {
    try {
      co_await asio::post(on, use_task);
    } catch (const usage_error& e) {
      failure = e.what();
    }
  };
  std::string failure;
  rt().spawn(body(*other, failure));
  run_until_handled();
  other.reset();
  run_until([&] { return !failure.empty(); });
  EXPECT_NE(failure.find("destroyed its handler"), std::string::npos) << failure;
}

}  // namespace
}  // namespace coracle::testing_support::asio_tests::composition_test
