// client_stream: the client's side of streaming calls.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/client/impl/client_awaiters.hpp"
#include "coracle/client/method_path.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/impl/message_awaiters.hpp"
#include "coracle/security/connection_peer.hpp"

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace coracle {

namespace client {

/// The base of streaming calls, as a stub returns them.
///
/// Nothing is sent before the first await. The call then belongs to the loop of that await, and inherits its
/// deadline. The destructor cancels the call. The object is a handle of its channel: its stub and all other
/// handles may be destroyed before the first await.
///
/// Operations report the end of the call as unary calls do: by a status or a result, whose value() throws
/// status_error.
///
/// A stop of the awaiter's environment ends next(), read() or write() with CANCELLED, and the call continues:
/// a read that was stopped has consumed no message. A stop of finish() cancels the call.
class client_stream {
 public:
  client_stream(client_stream&&) noexcept = default;
  client_stream& operator=(client_stream&&) noexcept = default;

  /// Begins the call before its first message, so that the server sees it early: `co_await start()`. Every
  /// other operation also begins the call. It does not wait: the request headers are sent once there is a
  /// connection.
  [[nodiscard]] start_awaiter start() { return start_awaiter(*call_); }
  /// Ends the call with CANCELLED, unless it has ended, and resumes the tasks that wait for it. On the loop
  /// of the call.
  void cancel();
  /// Begins the call, and waits for the initial metadata, which may arrive long before the first message.
  ///
  /// OK means that initial_metadata() is complete. Otherwise the result is the status with which the call
  /// ended without any.
  [[nodiscard]] headers_awaiter wait_for_initial_metadata() {
    return headers_awaiter(*call_, headers_awaiter::awaited::headers);
  }
  /// Begins the call, and waits until its request headers were given to a connection. They leave at the end
  /// of the turn of the loop.
  ///
  /// OK: they were. A call that may be retried does not wait for that. Otherwise the result is the status
  /// with which the call ended without a connection.
  [[nodiscard]] headers_awaiter wait_for_connection() {
    return headers_awaiter(*call_, headers_awaiter::awaited::connection);
  }
  /// Returns the initial metadata of the server: complete after wait_for_initial_metadata(), or after the
  /// first next() or finish().
  [[nodiscard]] const metadata& initial_metadata() const noexcept;
  /// Returns the metadata that was sent with the status; complete after the end of the call.
  [[nodiscard]] const metadata& trailing_metadata() const noexcept;
  /// Returns the server that the call was sent to; null before there is a connection. On the loop of the
  /// call, or after its end.
  [[nodiscard]] const std::shared_ptr<const connection_peer>& peer() const noexcept;
  /// Returns whether the last message that was read was compressed.
  [[nodiscard]] bool read_compressed() const noexcept;
  /// @cond  For sync_wait(): the loop on which a plain thread may run an operation.
  [[nodiscard]] loop& blocking_loop() const;
  /// @endcond

 protected:
  struct deleter {
    void operator()(client_call* c) const noexcept;
  };
  // one_reply: the status of the call is final only when its reply has been decoded.
  client_stream(const channel& by, method_path path, const call_options& options, bool one_reply = false);
  // For server-streaming calls: serializes the single request at once.
  client_stream(const channel& by, method_path path, const call_options& options, const rpc::codec& k,
                const void* request);

  channel channel_;
  std::unique_ptr<client_call, deleter> call_;
};

}  // namespace client

/// A call with many requests and one reply. Only one task may use it at a time, except for cancel().
template <class Request, class Reply>
class [[nodiscard]] client_streaming_call : public client::client_stream {
 public:
  /// Made by stubs. `path` must stay valid until the call ends.
  client_streaming_call(const channel& by, method_path path, const call_options& options)
      : client::client_stream(by, path, options, true) {}
  /// Sends a message: `status`. Waits while there is no room. OK does not mean that the message has arrived;
  /// any other status means that the call is over, and is the status of the call. finish() gives it, too.
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options);
  }
  /// Like write(), for the last message: the same frame ends the client's side of the stream.
  [[nodiscard]] auto write_last(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options, true);
  }
  /// Ends the requests, and waits for the end of the call: `result<Reply>`.
  [[nodiscard]] client::reply_awaiter<Reply> finish() { return client::reply_awaiter<Reply>(*call_); }
};

/// A call with one request and many replies.
template <class Reply>
class [[nodiscard]] server_streaming_call : public client::client_stream {
 public:
  /// Made by stubs. Serializes the request, which may be destroyed at once. `path` must stay valid until the
  /// call ends.
  template <class Request>
  server_streaming_call(const channel& by, method_path path, const Request& request,
                        const call_options& options)
      : client::client_stream(by, path, options, rpc::codec_of<Request>::get(),
                              rpc::codec_of<Request>::address(request)) {}
  /// Awaits the next reply and decodes it into `into`, whose memory it reuses: `result<bool>`. False means
  /// that the call ended with OK; a failed result has the status of the call. `into` must outlive the await.
  /// A loop throws status_error, `while ((co_await call.read(reply)).value())`, or names the result and tests
  /// `ok()` and then the value. The result itself is no condition, and does not compile as one.
  [[nodiscard]] auto read(Reply& into) {
    return client::begun<rpc::read_result_awaiter<Reply>>(*call_, into);
  }
  /// Awaits the next reply: `result<std::optional<Reply>>`, empty if the call ended with OK. Loop with
  /// `while (const auto reply = (co_await call.next()).value())`, which throws status_error, or name the
  /// result and test `ok()` and then the optional. The result itself does not compile as a condition.
  [[nodiscard]] auto next() { return client::begun<rpc::next_result_awaiter<Reply>>(*call_); }
  /// Waits for the end of the call and drops unread replies: `status`.
  [[nodiscard]] client::finish_awaiter finish() { return client::finish_awaiter(*call_); }
};

/// A call with many requests and many replies. One task may read while another one writes.
template <class Request, class Reply>
class [[nodiscard]] bidi_call : public client::client_stream {
 public:
  /// Made by stubs. `path` must stay valid until the call ends.
  bidi_call(const channel& by, method_path path, const call_options& options)
      : client::client_stream(by, path, options) {}
  /// Sends a message: `status`. Waits while there is no room. OK does not mean that the message has arrived;
  /// any other status means that the call is over, and is the status of the call. finish() gives it, too.
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options);
  }
  /// Like write(), for the last message: the same frame ends the client's side of the stream, as
  /// writes_done() does.
  [[nodiscard]] auto write_last(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options, true);
  }
  /// Ends the requests; replies may still arrive. It does not wait.
  [[nodiscard]] client::writes_done_awaiter writes_done() { return client::writes_done_awaiter(*call_); }
  /// Awaits the next reply and decodes it into `into`, whose memory it reuses: `result<bool>`. False means
  /// that the call ended with OK; a failed result has the status of the call. `into` must outlive the await.
  /// A loop throws status_error, `while ((co_await call.read(reply)).value())`, or names the result and tests
  /// `ok()` and then the value. The result itself is no condition, and does not compile as one.
  [[nodiscard]] auto read(Reply& into) {
    return client::begun<rpc::read_result_awaiter<Reply>>(*call_, into);
  }
  /// Awaits the next reply: `result<std::optional<Reply>>`, empty if the call ended with OK. Loop with
  /// `while (const auto reply = (co_await call.next()).value())`, which throws status_error, or name the
  /// result and test `ok()` and then the optional. The result itself does not compile as a condition.
  [[nodiscard]] auto next() { return client::begun<rpc::next_result_awaiter<Reply>>(*call_); }
  /// Ends the requests, unless writes_done() has, and waits for the end of the call: `status`.
  [[nodiscard]] client::finish_awaiter finish() { return client::finish_awaiter(*call_); }
};

}  // namespace coracle
