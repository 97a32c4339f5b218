// std_stop_token: std::stop_token in coroutines of this library, and the stop of a task as a std::stop_token.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/start.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

namespace coracle {

/// Passes a request to stop on to code that takes a std::stop_token:
///
///   const coracle::coro::environment& here = co_await coracle::coro::this_environment();
///   coracle::std_stop_source stop(here.stop);
///   co_await coracle::offload([token = stop.token()] { return search(token); });
///
/// Make and destroy it on the loop of the task, within the lifetime of the task. Its token may be used on any thread,
/// also after that. Callbacks of the token run on the loop.
class std_stop_source : coro::stop_callback {
 public:
  explicit std_stop_source(const coro::stop_token& of)
      : stop_callback(
            [](stop_callback& c) noexcept { static_cast<std_stop_source&>(c).source_.request_stop(); }) {
    if (!of.subscribe(*this)) source_.request_stop();
  }
  std_stop_source(const std_stop_source&) = delete;
  std_stop_source& operator=(const std_stop_source&) = delete;
  ~std_stop_source() { unlink(); }
  /// Returns a token of this source.
  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  std::stop_source source_;
};

namespace senders {

// Brings a stop request from any thread to the executor on which it was made.
class stop_relay : private coro::runnable {
 public:
  explicit stop_relay(const std::stop_token& of)
      : runnable{&stop_relay::arrived}, to_(coro::this_executor()) {
    callback_.emplace(of, notify{this});
  }
  stop_relay(const stop_relay&) = delete;
  stop_relay& operator=(const stop_relay&) = delete;
  [[nodiscard]] coro::stop_token token() noexcept { return source_.token(); }

  // To await at the end: no request is on its way after it.
  [[nodiscard]] bool await_ready() noexcept {
    callback_.reset();  // waits for the callback if it runs on another thread
    return !sent_ || source_.stop_requested();
  }
  void await_suspend(std::coroutine_handle<> h) noexcept { settling_ = h; }
  void await_resume() const noexcept {}

 private:
  struct notify {
    stop_relay* of;
    void operator()() const noexcept {
      of->sent_ = true;
      of->to_.post(*of);
    }
  };
  static void arrived(coro::runnable& w) noexcept {
    auto& self = static_cast<stop_relay&>(w);
    self.source_.request_stop();
    if (self.settling_) self.settling_.resume();
  }
  coro::executor& to_;
  coro::stop_source source_;
  bool sent_ = false;  // written by the callback, read after its end
  std::coroutine_handle<> settling_;
  std::optional<std::stop_callback<notify>> callback_;
};

}  // namespace senders

/// co_await with_stop_token(token, wait) runs a wait that `token` may stop, from any thread: as stop_on() does for
/// tokens of this library, and with its results. The wait always ends on the loop that awaits it.
template <coro::awaitable Wait>
[[nodiscard]] auto with_stop_token(std::stop_token token, Wait wait)
    -> task<coro::awaited_t<stop_on<coro::awaited_t<Wait>>&>> {
  senders::stop_relay relay(token);
  std::optional<outcome<coro::awaited_t<stop_on<coro::awaited_t<Wait>>&>>> ended;
  try {
    stop_on limited(relay.token(), std::move(wait));
    ended.emplace(co_await limited);
  } catch (...) {
    ended.emplace(decltype(ended)::value_type::failure(std::current_exception()));
  }
  co_await relay;
  co_return std::move(*ended).value();
}

}  // namespace coracle
