// server_interceptor: a coroutine around every call of a server, whatever its kind.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/impl/interceptor_chain.hpp"
#include "coracle/server/server_context.hpp"

#include <cstddef>

namespace coracle {

/// The rest of the interceptor chain: `const status s = co_await next();` runs the interceptors that were
/// added later, then the handler. Call it once. It is a handle, cheap to copy, and valid until intercept()
/// ends.
class next_handler {
 public:
  next_handler(rpc::interceptor_chain& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  /// Runs the rest of the chain and gives the call's status. Never throws: exceptions of the handler or of an
  /// interceptor become a status (see reply<T>). Once the call has ended for its client (reset, deadline,
  /// drain), every next() gives the status with which it ended, and starts no handler.
  [[nodiscard]] rpc::rest_awaiter operator()() const noexcept { return {*of_, index_}; }

 private:
  rpc::interceptor_chain* of_;
  std::size_t index_;
};

/// Intercepts every call of a server. Derive from it and pass the object to server::add_interceptor(). One
/// object serves every loop of the server, so calls on different threads run it concurrently. A server
/// without interceptors pays one branch per call.
///
///   task<status> intercept(server_context& context, next_handler next) override {
///     if (!allowed(context)) co_return status::permission_denied("...");   // the handler never runs
///     const status s = co_await next();
///     context.trailing_metadata().add("x-served-by", name_);               // the status is not sent yet
///     co_return s;                                                         // or another status
///   }
///
/// The interceptors run around a call in the order in which they were added, the first one outermost.
/// intercept() starts on the call's loop when the request headers have arrived, before the messages: next()
/// waits for the one request of a unary or server-streaming call. Its task inherits the call's deadline and
/// stop token, as handlers do. A handler inherits the environment in which next() is awaited, so that a
/// timeout around next() reaches the handler.
///
/// The reply of a unary or client-streaming call is sent when the outermost interceptor has returned OK; the
/// replies of the other kinds are sent as the handler yields them. Returning OK when no handler gave a reply
/// is a defect of the interceptor: the call ends with INTERNAL, and the server logs a line. Calls of
/// unregistered methods pass the interceptors, too: next() then gives UNIMPLEMENTED.
class server_interceptor {
 public:
  virtual ~server_interceptor() = default;
  /// Runs around one call. The status that it returns becomes the status of the call.
  [[nodiscard]] virtual task<status> intercept(server_context& context, next_handler next) = 0;
};

}  // namespace coracle
