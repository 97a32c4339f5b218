// server_interceptor: a coroutine around every call of a server, whatever its kind.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log_record.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/impl/interceptor_chain.hpp"
#include "coracle/rpc/intercepted_message.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/server_context.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle {

namespace server_internal {

class server_interceptor_chain;  // private: src/server/call/server_interceptor_chain.hpp

// Waits for the one request of a call, before its handler is started; one wait at a time. A stop of the
// waiter's environment ends only the wait.
class request_awaiter : private coro::runnable, private coro::stop_callback {
 public:
  explicit request_awaiter(rpc::interceptor_chain& of) noexcept;
  request_awaiter(const request_awaiter&) = delete;
  request_awaiter& operator=(const request_awaiter&) = delete;
  ~request_awaiter();

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h).stop);
  }
  intercepted_message& await_resume();

 private:
  friend class server_interceptor_chain;
  static void stopped(coro::stop_callback& self) noexcept;
  bool start(std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;
  void resume() noexcept;
  server_interceptor_chain& of_;
  std::coroutine_handle<> waiter_;
  bool pending_ = false;
  bool stopped_ = false;
};

}  // namespace server_internal

/// A request for a plain route that has ended. It and what it refers to are valid during the call that passes
/// it.
struct finished_http_request {
  std::string_view method;  ///< "GET"
  /// As the client sent it, without the query: percent-escapes are not decoded.
  std::string_view path;
  const net::address& peer;  ///< of the connection
  int status = 0;  ///< the HTTP status of the response; 0: the client went away before it
  /// Whether the whole response was passed to the connection. False if the client went away or the handler
  /// failed after it had begun.
  bool complete = false;
  duration took{};  ///< since the request headers arrived, in steps of a loop iteration
  std::uint64_t received_bytes = 0;  ///< of the request's body
  std::uint64_t sent_bytes = 0;  ///< of the response's body
  const metadata& headers;  ///< of the request
  std::optional<log_trace> trace;  ///< the ids for log lines, if the request belongs to a trace
};

/// The rest of the interceptor chain: `const status s = co_await next();` runs the interceptors that were
/// added later, then the handler. Call it once. It is a handle, cheap to copy, and valid until intercept()
/// ends.
class next_handler {
 public:
  /// @cond
  next_handler(rpc::interceptor_chain& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  /// @endcond
  /// Runs the rest of the chain and gives the call's status. Never throws: exceptions of the handler or of an
  /// interceptor become a status (see reply<T>). Once the call has ended for its client (reset, deadline,
  /// drain), every next() gives the status with which it ended, and starts no handler.
  [[nodiscard]] rpc::rest_awaiter operator()() const noexcept { return {*of_, index_, nullptr}; }
  /// The same, and the messages of the call pass `hooks`. If they refuse the one request or the one reply of
  /// a call, next() returns their status, and a refused request reaches no handler. If they refuse a message
  /// of a stream, the call ends with their status at once, for its handler, too.
  [[nodiscard]] rpc::rest_awaiter operator()(std::shared_ptr<message_hooks> hooks) const noexcept {
    return {*of_, index_, std::move(hooks)};
  }
  /// Waits for the request of a unary or server-streaming call, in place of next() or before it:
  /// `intercepted_message& request = co_await next.request();`. The request has passed the hooks of the
  /// interceptors outside this one, and the handler gets what is changed in it; the reference is valid until
  /// next() is awaited. Throws status_error if the call ends before its request has arrived or if hooks have
  /// refused it, and usage_error for a stream of requests, which only hooks see.
  [[nodiscard]] server_internal::request_awaiter request() const noexcept {
    return server_internal::request_awaiter(*of_);
  }
  /// Returns whether request() may be awaited: the call has one request.
  [[nodiscard]] bool has_request() const noexcept { return of_->has_request(); }
  /// Returns whether reply() may be called: the call has one reply.
  [[nodiscard]] bool has_reply() const noexcept { return of_->has_reply(); }
  /// Returns the reply of a unary or client-streaming call: after next() returned OK, that of the handler,
  /// whose own object stays as it is. To answer the call itself, an interceptor changes the reply, after
  /// next() or without it, and returns OK. Before next() it is an empty message of the method's type. Throws
  /// usage_error for a stream of replies, which only hooks see.
  [[nodiscard]] intercepted_message& reply() const { return of_->reply(); }
  /// After next(): returns the status with which the handler ended, also if the call had ended for its client
  /// before, when next() gives the status of that; reply() is then the handler's, too. Nothing if no handler
  /// ran.
  [[nodiscard]] std::optional<status> handler_outcome() const;

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
/// waits for the one request of a unary or server-streaming call, which is decoded only then. Its task
/// inherits the call's deadline and stop token, as handlers do. A handler inherits the environment in which
/// next() is awaited, so that a timeout around next() reaches the handler. An interceptor that looks at
/// messages passes message_hooks to next(), or uses next.request() and next.reply().
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
  /// Reports a request for a plain route (server::add_http(), static files), which intercept() does not see,
  /// once its handler and its response have ended. Called on its loop, in the order in which the interceptors
  /// were added. Requests that reach no route are not reported. The default does nothing.
  virtual void on_http_end(const finished_http_request& /*request*/) noexcept {}
};

}  // namespace coracle
