// client_interceptor: a coroutine around every call of a client, whatever its kind.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/impl/interceptor_chain.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstddef>
#include <string_view>

namespace coracle {

// What an interceptor knows of the call; valid until it has ended. For the call's loop only.
class client_context {
 public:
  client_context(const client_context&) = delete;
  client_context& operator=(const client_context&) = delete;

  // "/package.Service/Method"
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  // What the next next() sends with: metadata and timeout (of each next(), within that of the whole call) may be
  // changed before it.
  [[nodiscard]] call_options& options() noexcept { return options_; }
  // By when the whole call ends, and with it the waits of its interceptors; `never`: no deadline.
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
  // Whether next() may be awaited again: a unary call may be tried as often as one likes, a stream once.
  [[nodiscard]] bool repeatable() const noexcept { return repeatable_; }
  // What came with the last next().
  [[nodiscard]] const metadata& initial_metadata() const noexcept { return *initial_; }
  [[nodiscard]] const metadata& trailing_metadata() const noexcept { return *trailing_; }

 protected:
  client_context(std::string_view method, const call_options& options, bool repeatable);
  ~client_context() = default;

  std::string_view method_;
  call_options options_;
  time_point deadline_ = never;
  const metadata* initial_;
  const metadata* trailing_;
  bool repeatable_;
};

// `const status s = co_await next();` runs the interceptors further in, then the call, to its end. A handle, cheap to
// copy, valid until intercept() ends. Never throws; gives CANCELLED or DEADLINE_EXCEEDED when the call was stopped.
class next_call {
 public:
  next_call(rpc::interceptor_chain& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  [[nodiscard]] rpc::rest_awaiter operator()() const noexcept { return {*of_, index_}; }

 private:
  rpc::interceptor_chain* of_;
  std::size_t index_;
};

// Derive from it and put it in front of a channel: see intercepted_channel. One object serves every call, on
// different loops at the same time. A channel without any pays a branch a call.
//
//   task<status> intercept(client_context& call, next_call next) override {
//     call.options().metadata("x-key", key_);
//     status s = co_await next();
//     if (s.code() == status_code::unauthenticated && call.repeatable()) {
//       ...                                 // another key
//       s = co_await next();                // the whole call again
//     }
//     co_return s;                          // what the caller sees
//   }
//
// The first is outermost. intercept() starts when the call is first awaited; returning without next() sends nothing.
// Around a stream next() lasts as long as the call, while its owner reads and writes; its end reaches the owner
// when the outermost interceptor has returned. The task inherits deadline and call of whoever makes the call, and
// is stopped when that is cancelled or its deadline passes. An interceptor that makes OK of a unary call
// without a reply has a defect: INTERNAL, and a line in the log.
class client_interceptor {
 public:
  virtual ~client_interceptor() = default;
  [[nodiscard]] virtual task<status> intercept(client_context& call, next_call next) = 0;
};

}  // namespace coracle
