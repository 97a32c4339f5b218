// server_interceptor: a coroutine around every call of a server, whatever its kind.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/promise.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/server_context.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle {

namespace calls {

class interception;  // private: src/rpc/interception.hpp

// co_await next(): runs what stands behind an interceptor, and gives the status of that.
class rest_awaiter {
 public:
  rest_awaiter(interception& of, std::size_t index) noexcept : of_(of), index_(index) {}
  rest_awaiter(const rest_awaiter&) = delete;
  rest_awaiter& operator=(const rest_awaiter&) = delete;
  ~rest_awaiter() {
    if (child_) child_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> h) noexcept {
    const coro::environment& inherited = coro::environment_of(h);
    switch (step(h, inherited)) {
      case then::wait: return away();
      case then::go_on: return back(h);
      case then::child: break;
    }
    child_.promise().inherit(inherited);
    child_.promise().set_continuation(h);
    return coro::promise_base::start(child_, child_.promise());
  }
  status await_resume() noexcept;

 private:
  enum class then : std::uint8_t { child, wait, go_on };
  // The next interceptor as child_, or the handler.
  then step(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;
#if CORACLE_TRAMPOLINE
  static bool away() noexcept { return true; }
  static bool back(std::coroutine_handle<>) noexcept { return false; }
#else
  static std::coroutine_handle<> away() noexcept { return std::noop_coroutine(); }
  static std::coroutine_handle<> back(std::coroutine_handle<> h) noexcept { return h; }
#endif

  interception& of_;
  std::size_t index_;
  task<status>::handle child_;
  status failure_;  // no child could be made
};

}  // namespace calls

// The rest of the chain: `const status s = co_await next();` runs the interceptors added later, then the handler.
// Called once; a handle, cheap to copy, valid until intercept() ends.
class next_handler {
 public:
  // Never throws: what escapes from the handler or an interceptor becomes a status (see rpc<T>). Once the call is
  // over for its client (reset, deadline, drain), every next() gives how it ended, and starts no handler.
  [[nodiscard]] calls::rest_awaiter operator()() const noexcept { return {*of_, index_}; }

 private:
  friend class calls::interception;
  friend class calls::rest_awaiter;
  next_handler(calls::interception& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  calls::interception* of_;
  std::size_t index_;
};

// Derive from it and hand it to server::add_interceptor(). One object serves every loop of the server: calls on
// different threads run it at the same time. A server without any pays a branch a call.
//
//   task<status> intercept(server_context& context, next_handler next) override {
//     if (!allowed(context)) co_return status::permission_denied("...");   // the handler never runs
//     const status s = co_await next();
//     context.trailing_metadata().add("x-served-by", name_);               // the status is not sent yet
//     co_return s;                                                         // or another one
//   }
//
// They stand around a call in the order in which they were added, the first outermost. intercept() starts when the
// request's head has arrived, on the call's loop, before its messages: next() waits for the one request of
// a unary or server-streaming call. Its task inherits the call's deadline and stop token, as handlers do; a
// handler inherits the environment in which next() is awaited, so that a timeout around it reaches the handler.
//
// The reply of a unary or client-streaming call is sent when the outermost interceptor has returned OK; the replies
// of the other kinds are sent as the handler gives them. An interceptor that returns OK where there is
// no reply to send, because no handler gave one, is a defect (abort). Calls of methods that no service has pass
// no interceptor.
class server_interceptor {
 public:
  virtual ~server_interceptor() = default;
  [[nodiscard]] virtual task<status> intercept(server_context& context, next_handler next) = 0;
};

}  // namespace coracle
