// client_interceptor: a coroutine that runs around every call of a client, of any kind.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/impl/interceptor_chain.hpp"
#include "coracle/rpc/intercepted_message.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/security/connection_peer.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle {

/// The call as an interceptor sees it; valid until intercept() ends. Use it only on the loop of the call.
class client_context {
 public:
  client_context(const client_context&) = delete;
  client_context& operator=(const client_context&) = delete;

  /// Returns the path of the method: "/package.Service/Method".
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  /// Returns the authority of the channel: "host:port", or channel_options::authority. Valid as long as the
  /// channel.
  [[nodiscard]] std::string_view authority() const noexcept { return authority_; }
  /// Returns the server that the last next() has sent the call to, also while it waits; null if there was no
  /// connection yet. Valid until the next one.
  [[nodiscard]] const connection_peer* peer() const noexcept { return current_peer(); }
  /// Returns the options of the next attempt, which may be changed before next(). The timeout applies to each
  /// next(), within the deadline of the whole call. Change the codec before the bytes of the request are read
  /// or set.
  [[nodiscard]] call_options& options() noexcept { return options_; }
  /// Returns the deadline of the whole call, including the waits of its interceptors; `never` if it has none.
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
  /// Returns whether next() may be awaited again: true for unary calls, any number of times; false for
  /// streams.
  [[nodiscard]] bool repeatable() const noexcept { return repeatable_; }
  /// Returns the initial metadata that the last next() received.
  [[nodiscard]] const metadata& initial_metadata() const noexcept { return *initial_; }
  /// Returns the trailing metadata that the last next() received.
  [[nodiscard]] const metadata& trailing_metadata() const noexcept { return *trailing_; }

 protected:
  client_context(std::string_view method, const call_options& options, bool repeatable);
  ~client_context() = default;
  [[nodiscard]] virtual const connection_peer* current_peer() const noexcept = 0;

  std::string_view method_;
  std::string_view authority_;
  call_options options_;
  time_point deadline_ = never;
  const metadata* initial_;
  const metadata* trailing_;
  bool repeatable_;
};

/// Runs the inner interceptors and then the call, to its end: `const status s = co_await next();`.
///
/// A handle, cheap to copy; valid until intercept() ends. It never throws, and returns CANCELLED or
/// DEADLINE_EXCEEDED if the call was stopped.
class next_call {
 public:
  /// @cond
  next_call(rpc::interceptor_chain& of, std::size_t index) noexcept : of_(&of), index_(index) {}
  /// @endcond
  /// Runs the rest of the chain, and gives the status of the call.
  [[nodiscard]] rpc::rest_awaiter operator()() const noexcept { return {*of_, index_, nullptr}; }
  /// The same, and the messages of the call pass `hooks`. If they refuse a message, next() returns their
  /// status; a request that they refuse is not sent. When next() is awaited again, the request passes the
  /// hooks again, as it was before they changed it.
  [[nodiscard]] rpc::rest_awaiter operator()(std::shared_ptr<message_hooks> hooks) const noexcept {
    return {*of_, index_, std::move(hooks)};
  }
  /// Returns the request of a unary or server-streaming call, as the interceptors outside this one have
  /// passed it on; next() sends what was changed here. Throws usage_error for a stream of requests, which
  /// only hooks see.
  [[nodiscard]] intercepted_message& request() const { return of_->request(); }
  /// Returns whether request() may be called: the call has one request.
  [[nodiscard]] bool has_request() const noexcept { return of_->has_request(); }
  /// Returns whether reply() may be called: the call is unary.
  [[nodiscard]] bool has_reply() const noexcept { return of_->has_reply(); }
  /// Returns the reply of a unary call: after next() returned OK, the one that arrived, encoded anew if its
  /// bytes are asked for. To answer the call itself, an interceptor changes the reply, with or without
  /// next(), and returns OK. The next attempt clears it. Throws usage_error for other kinds of calls.
  [[nodiscard]] intercepted_message& reply() const { return of_->reply(); }

 private:
  rpc::interceptor_chain* of_;
  std::size_t index_;
};

/// Runs code around calls. Derive from it, and share it with channel_options::interceptors or
/// channel::with_interceptors(): the channel and its calls keep it.
///
///   task<status> intercept(client_context& call, next_call next) override {
///     call.options().metadata("x-key", key_);
///     status s = co_await next();
///     if (s.code() == status_code::unauthenticated && call.repeatable()) {
///       ...                                 // another key
///       s = co_await next();                // the whole call again
///     }
///     co_return s;                          // what the caller sees
///   }
///
/// One object serves every call, on several loops concurrently. A channel without interceptors pays one
/// branch per call.
///
/// The first interceptor is the outermost. intercept() starts when the call is first awaited. If it returns
/// without next(), nothing is sent. Around a stream, next() lasts as long as the call, while its owner reads
/// and writes; the owner sees the end of the call when the outermost interceptor has returned. The task
/// inherits the deadline and the call context of the caller, and is stopped when the caller is cancelled or
/// the deadline passes. Returning OK for a unary call without a reply is a defect of the interceptor: the
/// call ends with INTERNAL, and an error is logged. An interceptor that looks at messages passes
/// message_hooks to next(), or uses next.request() and next.reply().
class client_interceptor {
 public:
  virtual ~client_interceptor() = default;
  /// Runs around one call, on its loop. The status that it returns is what the caller sees.
  [[nodiscard]] virtual task<status> intercept(client_context& call, next_call next) = 0;
};

}  // namespace coracle
