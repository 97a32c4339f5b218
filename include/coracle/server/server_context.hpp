// server_context: what a handler can learn about its call, and control, apart from the messages.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/call_cost.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/rpc/load_report.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/server/impl/message_store.hpp"

#include <optional>
#include <string_view>
#include <type_traits>

namespace google::protobuf {
class Arena;
}

namespace coracle {

namespace server_internal {
class server_call;  // private: src/server/call/server_call.hpp
}

/// Describes a call to its handler and the interceptors. The server makes it; it is valid until the handler
/// and the interceptors around it have ended. Use it only on the handler's loop.
class server_context : public rpc::propagated_context {
 public:
  server_context(const server_context&) = delete;
  server_context& operator=(const server_context&) = delete;

  /// The path of the method, "/package.Service/Method".
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  /// The host that the client called, with its port if it named one: the :authority of the request (RFC 9113
  /// 8.3.1), or else its Host. Empty if it has neither. The client chose it: it proves nothing. Valid as long
  /// as the context.
  [[nodiscard]] std::string_view authority() const noexcept { return authority_; }
  /// The part of the request's content-type after "application/grpc+": "", "proto", "json" and so on.
  [[nodiscard]] std::string_view content_subtype() const noexcept;
  /// The address of the client's end of the connection.
  [[nodiscard]] const net::address& peer() const noexcept { return *peer_; }
  /// The address of the server's end of the connection, which the client connected to. Without an address
  /// (net::address::family::none) when the call has ended for its client. Valid as long as the call.
  [[nodiscard]] const net::address& local() const noexcept;
  /// The authenticated identity of the client and the protection of the connection; null in plaintext. Valid
  /// as long as the context.
  [[nodiscard]] const auth_context* auth() const noexcept { return auth_; }

  /// When the call ends at the latest: the client's deadline, or the end of server_limits::call_time if
  /// that is sooner; `never` if there is neither. Calls that the handler makes inherit it, as they do the
  /// stop token.
  [[nodiscard]] time_point deadline() const noexcept { return environment_->deadline; }
  /// Stops when the call ends before its handler: the client resets it or disconnects, the deadline passes,
  /// the grace of a drain expires, or a message is malformed, exceeds its size limit, or arrives too slowly
  /// (server_limits::stall_time).
  [[nodiscard]] coro::stop_token stop_token() const noexcept { return environment_->stop; }
  /// Whether stop_token() has stopped.
  [[nodiscard]] bool cancelled() const noexcept { return environment_->stop.stop_requested(); }
  /// Stops when the server begins to drain, on this call's loop. An endless stream then has
  /// server_options::drain_grace to end. The call continues; a call that begins during the drain
  /// finds the token stopped. Pass it to stop_on() with any wait. Valid as long as the context.
  [[nodiscard]] coro::stop_token drain_token() const noexcept { return drain_; }

  /// Metadata that is sent before the first message, or by send_initial_metadata(), whichever comes first.
  [[nodiscard]] coracle::metadata& initial_metadata() noexcept { return initial_; }
  /// Sends the response headers now; does nothing if they were sent already.
  void send_initial_metadata();
  /// Sets how replies are compressed; call it before the first message and before send_initial_metadata(). It
  /// has no effect if the client does not accept that encoding. Default: server_options::compression.
  void compression(const coracle::compression& c) noexcept { compression_ = c; }
  /// Whether the last request that was read came compressed.
  [[nodiscard]] bool read_compressed() const noexcept;
  /// Metadata that is sent with the status.
  [[nodiscard]] coracle::metadata& trailing_metadata() noexcept { return trailing_; }

  /// Tells clients when to retry, in place of the clients' backoff (gRFC A6, "Pushback"). Call it before the
  /// handler ends with a status that clients may retry. Has a resolution of a millisecond, from 0 to 24 days.
  /// Clients without a retry policy ignore it.
  void retry_after(duration d);
  /// Tells clients not to retry this call (gRFC A6, "Pushback").
  void do_not_retry();

  /// Returns the logger of the runtime, for lines of log_room::application that have the ids of the call's
  /// trace, if it has one: `context.log().info("a movie was added", log_field("title", title));`. Make it
  /// anew after a tracer has begun or ended a span. Throws std::bad_alloc.
  [[nodiscard]] bound_log log() const;

  /// What was exchanged so far. A reply that waits for the interceptors to end counts as sent.
  [[nodiscard]] call_traffic traffic() const noexcept;
  /// What the call has cost so far, if it is one of those that are measured: the first call of each loop and
  /// then one of 101, or every call with server_options::cost_trailers. Reads the clock. An observer that
  /// calls it in server_observer::call_ended() gets the costs up to the end; what the handler does after that
  /// still counts for itself.
  [[nodiscard]] std::optional<call_cost> cost() const noexcept;
  /// Records the load of this call, and what it costs in units of the application's own:
  ///
  ///   context.load().set_cost("db_queries", 3).set_utilization("disk", 0.4);
  ///
  /// It is sent with the status, in the trailing metadata `endpoint-load-metrics-bin` (gRFC A51), if anything
  /// was recorded until then. Values of the server (server_options::load) fill what is missing. The first use
  /// allocates. Throws std::bad_alloc.
  [[nodiscard]] load_report& load();

  /// An arena for messages, freed as a whole when the call has ended, whose memory later calls of the loop
  /// reuse. It is made on first use. Reply::default_instance().New(&context.arena()) makes a reply, with
  /// every version of protobuf, that `co_return reply;` sends from there. For requests in the arena see
  /// service::wants_arena().
  [[nodiscard]] google::protobuf::Arena& arena();

  /// Makes an empty reply that the handler fills in place:
  ///
  ///   auto& reply = context.make_reply<Reply>();
  ///   ...
  ///   co_return &reply;
  ///
  /// The context owns it, and it lives until the call, the handler and the interceptors around it have ended.
  /// Calls of the loop reuse its memory, so that a small reply costs no allocation; a reply that was not
  /// sent, or takes more than 1 KiB on the wire, is destroyed. A handler may make any number of them. A reply
  /// of a stream is copied when it is yielded, and gains nothing. For protobuf messages. Throws
  /// std::bad_alloc.
  template <class Reply>
  [[nodiscard]] Reply& make_reply();
  /// Gives the call's one request to move from: `store.add(context.take(request));`.
  ///
  /// It is the same object and stays the context's: references to it, those of interceptors included, see a
  /// moved-from message afterwards. Throws usage_error if `request` is another message, such as a copy, or if
  /// the requests of the call are a stream, whose messages belong to the handler anyway.
  template <class Request>
  [[nodiscard]] Request&& take(const Request& request);

  /// @cond  For the library.
  // What those who have accepted the connection have attached to it; null: nothing, or it is gone.
  [[nodiscard]] std::shared_ptr<const void> connection_mark() const noexcept;
  /// @endcond

  /// The environment for tasks that the handler starts: scope work{context.environment()};
  [[nodiscard]] const coro::environment& environment() const noexcept { return *environment_; }

 private:
  friend class server_internal::server_call;
  server_context() noexcept = default;
  ~server_context() = default;
  // Whether `request` is the call's request. If so, records that the caller is about to change it. The
  // pointer is that of rpc::codec_of<T>::address().
  [[nodiscard]] bool permits_take(const void* request);

  std::string_view method_;
  std::string_view authority_;  // the connection's, or the call's copy
  // The connection's address, or the call's copy if the connection may be gone.
  const net::address* peer_ = nullptr;
  const auth_context* auth_ = nullptr;
  coro::stop_source stop_;
  coro::stop_token drain_;
  coro::environment own_environment_;
  const coro::environment* environment_ = &own_environment_;  // or that of an interceptor's next()
  coracle::compression compression_;
  coracle::metadata initial_;
  coracle::metadata trailing_;
  server_internal::message_store* messages_ = nullptr;
  server_internal::made_reply* made_replies_ = nullptr;  // the latest first
};

template <class Reply>
Reply& server_context::make_reply() {
  static_assert(std::is_base_of_v<google::protobuf::MessageLite, Reply>,
                "make_reply() is for protobuf's messages: co_return others by value");
  auto& made = server_internal::reply_of<Reply>::make(*messages_);
  made.next_made = made_replies_;
  made_replies_ = &made;
  return made.message;
}

template <class Request>
Request&& server_context::take(const Request& request) {
  CORACLE_REQUIRE(
      permits_take(rpc::codec_of<Request>::address(request)),
      "take() was given a message that is not the call's request: pass the handler's own parameter");
  return static_cast<Request&&>(const_cast<Request&>(request));
}

}  // namespace coracle
