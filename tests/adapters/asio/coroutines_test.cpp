// The completion tokens of coroutines, and those that give an object, with every kind of wait.
#include "kinds.hpp"

#include "coracle/asio/tokens.hpp"
#include "coracle/asio/yield.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/coro.hpp>
#include <asio/experimental/use_coro.hpp>
#else
#include <boost/asio/experimental/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>
#include <boost/asio/experimental/use_coro.hpp>
#endif

#include <chrono>
#include <future>
#include <tuple>
#include <utility>

namespace coracle::testing_support::asio_tests::coroutines_test {
namespace {

// The macros of stackless coroutines would take the names of others.
#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/yield.hpp>
#else
#include <boost/asio/yield.hpp>
#endif
// A stackless coroutine is its own handler.
template <class Kind>
struct stackless : asio::coroutine {
  kinds_fixture* w;
  ended* done;
  stackless(kinds_fixture& of, ended& e) : w(&of), done(&e) {}
  template <class... Args>
  void operator()(Args... args) {
    reenter(this) {
      yield Kind::start(*w, std::move(*this));
      if constexpr (sizeof...(Args) > 0 || std::is_same_v<Kind, half_close_kind>)
        done->with<Kind>(std::move(args)...);
    }
  }
};
#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/unyield.hpp>
#else
#include <boost/asio/unyield.hpp>
#endif

class coroutines : public kinds_fixture {
 protected:
  ended done;
};
INSTANTIATE_TEST_SUITE_P(On, coroutines, kernel_kinds, asio_fixture::case_name);

template <class Kind>
asio::awaitable<void> await(kinds_fixture& w, ended& done) {
  if constexpr (std::is_void_v<typename Kind::value>) {
    co_await Kind::start(w, asio::use_awaitable);
    done.with<Kind>();
  } else {
    auto value = co_await Kind::start(w, asio::use_awaitable);
    done.with<Kind>(std::move(value));
  }
}

TEST_P(coroutines, UseAwaitable) {
  for_each_kind(*this, done,
                [&]<class Kind>() { asio::co_spawn(io, await<Kind>(*this, done), asio::detached); });
}

template <class Kind>
asio::awaitable<void> await_as_tuple(kinds_fixture& w, ended& done) {
  auto all = co_await Kind::start(w, asio_tokens::as_tuple(asio::use_awaitable));
  std::apply([&](auto&... args) { done.with<Kind>(std::move(args)...); }, all);
}

TEST_P(coroutines, AsTupleOfUseAwaitable) {
  for_each_kind(*this, done,
                [&]<class Kind>() { asio::co_spawn(io, await_as_tuple<Kind>(*this, done), asio::detached); });
}

TEST_P(coroutines, UseFuture) {
  for_each_kind(*this, done, [&]<class Kind>() {
    auto future = Kind::start(*this, asio::use_future);
    run_until([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    asio::post(io, [this, future = std::make_shared<decltype(future)>(std::move(future))] {
      if constexpr (std::is_void_v<typename Kind::value>) {
        future->get();
        done.with<Kind>();
      } else {
        done.with<Kind>(future->get());
      }
    });
  });
}

TEST_P(coroutines, YieldContext) {
  const auto spawn = [&](auto function) {
#if CORACLE_ASIO_VERSION < 102400
    asio::spawn(io, std::move(function));
#else
    asio::spawn(io, std::move(function), asio::detached);
#endif
  };
  for_each_kind(*this, done, [&]<class Kind>() {
    spawn([this](asio::yield_context yield) {
      if constexpr (std::is_void_v<typename Kind::value>) {
        Kind::start(*this, yield);
        done.with<Kind>();
      } else {
        done.with<Kind>(Kind::start(*this, yield));
      }
    });
  });
}

TEST_P(coroutines, Stackless) {
  for_each_kind(*this, done, [&]<class Kind>() { stackless<Kind>(*this, done)(); });
}

TEST_P(coroutines, DeferredBeginsWhenItIsCalled) {
  for_each_kind(*this, done, [&]<class Kind>() {
    auto later = Kind::start(*this, asio_tokens::deferred);
    std::move(later)([this](auto&&... args) { done.with<Kind>(std::move(args)...); });
  });
}

// From Asio 1.24 on, a promise gives a result in an optional.
template <class T>
auto value_of(T value) {
  if constexpr (requires { value.has_value(); }) return *std::move(value);
  else return value;
}

TEST_P(coroutines, UsePromise) {
  std::shared_ptr<void> kept;  // a promise that is destroyed cancels its operation
  for_each_kind(*this, done, [&]<class Kind>() {
    auto promise = Kind::start(*this, asio_tokens::use_promise);
    auto report = [this](auto&&... args) { done.with<Kind>(value_of(std::move(args))...); };
#if CORACLE_ASIO_VERSION < 102400
    promise.async_wait(std::move(report));
#else
    std::move(promise)(std::move(report));
#endif
    kept = std::make_shared<decltype(promise)>(std::move(promise));
  });
}

// From Asio 1.24 on, use_coro takes no completion of one value without an error; a coro awaits what is
// deferred, too.
#if CORACLE_ASIO_VERSION < 102400
inline constexpr auto& token_of_coro = asio::experimental::use_coro;
#else
inline constexpr auto& token_of_coro = asio_tokens::deferred;
#endif

template <class Kind>
asio::experimental::coro<void> await_in_coro(asio::any_io_executor, kinds_fixture& w, ended& done) {
  if constexpr (std::is_void_v<typename Kind::value>) {
    co_await Kind::start(w, token_of_coro);
    done.with<Kind>();
  } else {
    auto value = co_await Kind::start(w, token_of_coro);
    done.with<Kind>(std::move(value));
  }
}

TEST_P(coroutines, UseCoro) {
  for_each_kind(*this, done, [&]<class Kind>() {
    asio::experimental::co_spawn(await_in_coro<Kind>(io.get_executor(), *this, done), asio::detached);
  });
}

TEST_P(coroutines, TheDefaultTokenOfAnExecutor) {
  using executor = asio::use_awaitable_t<>::executor_with_default<asio::io_context::executor_type>;
  auto body = [](executor on, echo_stub stub, loop& where, time_point when,
                 bool& ok) -> asio::awaitable<void> {
    const auto reply = co_await async_wait(on, stub.Say(text("hello")));
    co_await async_wait(on, where, sleep_until(when));
    ok = reply.ok();
  };
  bool ok = false;
  asio::co_spawn(io, body(executor(io.get_executor()), stub(), here(), rt().now(), ok), asio::detached);
  run_until([&] { return ok; });
}

}  // namespace
}  // namespace coracle::testing_support::asio_tests::coroutines_test
