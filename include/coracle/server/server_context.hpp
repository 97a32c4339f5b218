// server_context: what a handler knows of its call, beside the messages.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/server/impl/message_store.hpp"

#include <string_view>
#include <type_traits>

namespace google::protobuf {
class Arena;
}

namespace coracle {

namespace server_internal {
class server_call;  // private: src/server/server_call.hpp
}

// Made by the server; valid until the handler, and the interceptors around it, have ended. For the handler's loop only.
class server_context : public rpc::propagated_context {
 public:
  server_context(const server_context&) = delete;
  server_context& operator=(const server_context&) = delete;

  // "/package.Service/Method"
  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  // What follows "application/grpc+" in the request's content-type: "", "proto", "json" and so on.
  [[nodiscard]] std::string_view content_subtype() const noexcept;
  // The address of the client's end of the connection.
  [[nodiscard]] const net::address& peer() const noexcept { return *peer_; }
  // Who the client has proved to be, and how the connection is protected; null in plaintext. Valid as long as
  // the context.
  [[nodiscard]] const auth_context* auth() const noexcept { return auth_; }

  // By when the call ends: what the client wants, or server_limits::call_time() if that is sooner; `never` if
  // neither is said. Calls that the handler makes inherit it, as they do the stop token.
  [[nodiscard]] time_point deadline() const noexcept { return environment_->deadline; }
  // Stops when the call ends before its handler: the client resets it or goes away, the deadline passes, a
  // drain runs out of grace, or a message breaks the rules, is larger than it may be, or comes too slowly
  // (server_limits::stall_time()).
  [[nodiscard]] coro::stop_token stop_token() const noexcept { return environment_->stop; }
  [[nodiscard]] bool cancelled() const noexcept { return environment_->stop.stop_requested(); }
  /// Stops when the server begins to drain, on this call's loop: a stream without an end has server_options::drain_grace()
  /// from then on to end by itself. The call goes on; a call that begins during the drain finds it stopped. Give it to
  /// stop_on() with any wait. Valid as long as the context.
  [[nodiscard]] coro::stop_token drain_token() const noexcept { return drain_; }

  // To be sent before the first message, or by send_initial_metadata(), whichever is first.
  [[nodiscard]] coracle::metadata& initial_metadata() noexcept { return initial_; }
  void send_initial_metadata();
  // How replies are compressed; to be said before the first message or send_initial_metadata(). Has no effect when the
  // client does not accept that encoding. Default: server_options::compression().
  void compression(const coracle::compression& c) noexcept { compression_ = c; }
  // The request that was read last came compressed.
  [[nodiscard]] bool read_compressed() const noexcept;
  // To be sent with the status.
  [[nodiscard]] coracle::metadata& trailing_metadata() noexcept { return trailing_; }

  // Before the handler ends with a status that clients may retry: when to retry, in place of their own pauses (gRFC A6,
  // "Pushback"). To the millisecond, 0 to 24 days. Clients without a retry policy ignore it.
  void retry_after(duration d);
  // Likewise: clients do not retry this call at all.
  void do_not_retry();

  // What was exchanged so far. A reply that waits for the interceptors to end counts as sent.
  [[nodiscard]] call_traffic traffic() const noexcept;

  // Memory for messages that goes all at once when the call has ended, and is used again by the loop's next calls;
  // made when it is first asked for. google::protobuf::Arena::CreateMessage<Reply>(&context.arena()) makes a reply
  // that `co_return reply;` sends from there. For the request, too: service::wants_arena().
  [[nodiscard]] google::protobuf::Arena& arena();

  /// An empty reply that the handler fills where it is: `auto& reply = context.make_reply<Reply>(); ... co_return &reply;`.
  /// It lives until the call has ended, the handler and the interceptors around it as well, and belongs to the context.
  /// Calls of the loop use its memory again, so that a small reply costs no allocation; one that was not sent, or takes
  /// more than 1 KiB on the wire, is destroyed. Any number of them may be made; a reply of a stream is copied where it is
  /// yielded, and gains nothing. For protobuf's messages. Throws std::bad_alloc.
  template <class Reply>
  [[nodiscard]] Reply& make_reply();
  /// The call's one request, to be moved from: `store.add(context.take(request));`. The same object, which stays the
  /// context's: a reference into it, or one that an interceptor was given, sees a moved-from message afterwards. Throws
  /// usage_error where `request` is another message, a copy say, or the call's requests are a stream, whose messages are the
  /// handler's own.
  template <class Request>
  [[nodiscard]] Request&& take(const Request& request);

  // For tasks that the handler starts beside itself: scope work{context.environment()};
  [[nodiscard]] const coro::environment& environment() const noexcept { return *environment_; }

 private:
  friend class server_internal::server_call;
  server_context() noexcept = default;
  ~server_context() = default;
  // Whether it is the call's request, which is about to change then. As rpc::codec_of<T>::address() has it.
  [[nodiscard]] bool lets_take(const void* request);

  std::string_view method_;
  // The connection's, or the call's when the connection may be gone.
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
  server_internal::made_reply* made_replies_ = nullptr;  // the newest first
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
      lets_take(rpc::codec_of<Request>::address(request)),
      "take() was given a message that is not the call's request: pass the handler's own parameter");
  return static_cast<Request&&>(const_cast<Request&>(request));
}

}  // namespace coracle
