// server_interceptor: a coroutine around every call of a server, whatever its kind.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/impl/interceptor_chain.hpp"
#include "coracle/server/server_context.hpp"

#include <cstddef>

namespace coracle {

// The rest of the chain: `const status s = co_await next();` runs the interceptors added later, then the handler.
// Called once; a handle, cheap to copy, valid until intercept() ends.
class next_handler {
 public:
  next_handler(rpc::interceptor_chain& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  // Never throws: what escapes from the handler or an interceptor becomes a status (see reply<T>). Once the call is
  // over for its client (reset, deadline, drain), every next() gives how it ended, and starts no handler.
  [[nodiscard]] rpc::rest_awaiter operator()() const noexcept { return {*of_, index_}; }

 private:
  rpc::interceptor_chain* of_;
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
// The reply of a unary or client-streaming call is sent when the outermost interceptor has returned OK; the
// replies of the other kinds are sent as the handler gives them. An interceptor that returns OK where there
// is no reply to send, because no handler gave one, has a defect: INTERNAL, and a line in the log. Calls of
// methods that no service has pass them too: next() gives UNIMPLEMENTED.
class server_interceptor {
 public:
  virtual ~server_interceptor() = default;
  [[nodiscard]] virtual task<status> intercept(server_context& context, next_handler next) = 0;
};

}  // namespace coracle
