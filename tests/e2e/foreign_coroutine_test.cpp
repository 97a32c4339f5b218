// Calls and handlers together with coroutine types of other libraries.
#include "support/echo_fixture.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/with_timeout.hpp"

#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace coracle::testing_support::foreign_coroutine_test {
namespace {

using namespace std::chrono_literals;

// As other libraries write it: a lazy coroutine that uses only the standard library, awaited by any other.
template <class T>
class lazy {
 public:
  struct promise_type {
    std::optional<T> value;
    std::exception_ptr error;
    std::coroutine_handle<> awaiter;

    lazy get_return_object() { return lazy(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct go_on {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          return h.promise().awaiter;
        }
        void await_resume() noexcept {}
      };
      return go_on();
    }
    void return_value(T v) { value = std::move(v); }
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit lazy(std::coroutine_handle<promise_type> h) : frame_(h) {}
  lazy(lazy&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  ~lazy() {
    if (frame_) frame_.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    frame_.promise().awaiter = awaiter;
    return frame_;
  }
  T await_resume() {
    if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
    return std::move(*frame_.promise().value);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

// And an eager one that nothing awaits.
struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

echo::Text message_of(const char* text, int count = 0) {
  echo::Text m;
  m.set_text(text);
  m.set_count(count);
  return m;
}

lazy<int> all_kinds_of_call(echo_stub s) {
  int good = 0;
  const echo::Text hello = message_of("hello", 3);
  const auto reply = co_await s.Say(hello);
  good += reply && reply->text() == "hello" ? 1 : 0;

  auto download = s.Repeat(hello);
  while (const auto one = (co_await download.next()).value()) good += one->text() == "hello" ? 1 : 0;

  auto upload = s.Collect();
  for (int i = 0; i < 3; ++i) (co_await upload.write(hello)).throw_if_error();
  const auto joined = co_await upload.finish();
  good += joined && joined->count() == 3 ? 1 : 0;

  auto chat = s.Chat();
  (co_await chat.write(hello)).throw_if_error();
  const auto back = (co_await chat.next()).value();
  good += back && back->text() == "hello" ? 1 : 0;
  const status end = co_await chat.finish();
  good += end.ok() ? 1 : 0;
  co_return good;
}
constexpr int all_good = 1 + 3 + 1 + 1 + 1;

detached count_without_an_awaiter(echo_stub s, int& good, event<>& done) {
  good = co_await all_kinds_of_call(s);
  done.set();
}

class foreign_coroutines : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, foreign_coroutines, every_world_and_link, echo_fixture::case_name);

TEST_P(foreign_coroutines, AwaitAllKindsOfCall) {
  struct program {
    static task<int> awaited(echo_stub s) { co_return co_await all_kinds_of_call(s); }
    static task<int> alone(echo_stub s) {
      int good = 0;
      event<> done;
      count_without_an_awaiter(s, good, done);
      co_await done;
      co_return good;
    }
  };
  EXPECT_EQ(run(program::awaited(stub())), all_good);
  EXPECT_EQ(run(program::alone(stub())), all_good);
}

lazy<int> deadline_ms_at_the_server(echo_stub s, call_options options) {
  const echo::Text question = message_of("deadline");
  const auto reply = co_await s.Misbehave(question, options);
  co_return reply ? reply->count() : -2;
}

// environment_of() finds no deadline behind a promise of another library; call_options still apply.
TEST_P(foreign_coroutines, PassOnNoDeadlineButThatOfTheirCallOptions) {
  struct program {
    static task<int> ask(echo_stub s, call_options options) {
      co_return co_await deadline_ms_at_the_server(s, options);
    }
    static task<int> within_an_hour(echo_stub s, call_options options) {
      const auto answer = co_await with_timeout(1h, ask(s, options));
      co_return answer.ok() ? *answer : -3;
    }
  };
  EXPECT_EQ(run(program::within_an_hour(stub(), {})), -1);
  const int left_ms = run(program::within_an_hour(stub(), within(10min)));
  EXPECT_GT(left_ms, 0);
  EXPECT_LE(left_ms, 600'000);
}

lazy<echo::Text> look_up(echo::Text request) {
  co_await sleep_for(1ms);
  if (request.text() == "secret") throw status_error(status::permission_denied("not this one"));
  co_return request;
}

class looking_up final : public echo_service {
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    co_return co_await look_up(request);
  }
};

class foreign_coroutines_of_handlers : public echo_fixture {
 protected:
  service& served() noexcept override { return looking_up_; }
  looking_up looking_up_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, foreign_coroutines_of_handlers, every_world_and_link,
                         echo_fixture::case_name);

TEST_P(foreign_coroutines_of_handlers, GiveTheirValueOrTheirExceptionToTheHandler) {
  struct program {
    static task<status> say(echo_stub s, const char* text) {
      const echo::Text request = message_of(text);
      const auto reply = co_await s.Say(request);
      EXPECT_TRUE(!reply || reply->text() == text);
      co_return reply.status();
    }
  };
  EXPECT_EQ(run(program::say(stub(), "open")), status());
  EXPECT_EQ(run(program::say(stub(), "secret")), status::permission_denied("not this one"));
}

}  // namespace
}  // namespace coracle::testing_support::foreign_coroutine_test
