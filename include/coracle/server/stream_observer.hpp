// stream_observer: handlers of streaming calls as objects whose functions are called, for servers without
// coroutines.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/impl/observed_call.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/responder.hpp"
#include "coracle/server/server_context.hpp"

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace coracle {

/// Controls how the requests of an observer are read. A handle, cheap to copy, for any thread; it may outlive
/// the call.
class request_flow {
 public:
  /// @cond  For the library.
  explicit request_flow(std::shared_ptr<server_internal::request_demand> of) noexcept : of_(std::move(of)) {}
  /// @endcond
  /// Has `messages` more requests read, and their end. Without any request(), each request is read when
  /// on_message() has returned for the one before it. From the first request() on, requests are read only as
  /// requested. An observer that calls it in its constructor decides about the first request, too.
  void request(std::uint64_t messages) const { of_->add(messages); }

 private:
  std::shared_ptr<server_internal::request_demand> of_;
};

/// Sends the replies of an observer, and the status. A handle, cheap to copy, for any thread; it may outlive
/// the call.
template <class Reply>
class reply_stream {
 public:
  /// @cond  For the library.
  explicit reply_stream(std::shared_ptr<server_internal::unsent_replies<Reply>> to) noexcept
      : to_(std::move(to)) {}
  /// @endcond
  /// Queues a reply. Does not wait. Returns false if the call is over, and the reply is dropped. A handler
  /// that writes more than the client reads checks is_ready() first, or memory grows: with 64 MiB of unsent
  /// replies it throws usage_error, as it does after finish().
  bool write(Reply message) const { return to_->add(std::move(message)); }
  /// Returns whether less than 128 KiB of replies wait to be sent. When that is so again, on_ready() is
  /// called.
  [[nodiscard]] bool is_ready() const noexcept { return to_->is_ready(); }
  /// Ends the call, once the replies have been sent, with a status, which may be OK, and `trailing` metadata.
  /// Does not wait. Throws usage_error if it was called before.
  void finish(status outcome, metadata trailing = {}) const {
    to_->finish(std::move(outcome), std::move(trailing));
  }
  /// Returns whether the call has ended before finish(): the client cancelled it or disconnected, its
  /// deadline passed, or the server ended it.
  [[nodiscard]] bool cancelled() const noexcept { return to_->cancelled(); }

 private:
  std::shared_ptr<server_internal::unsent_replies<Reply>> to_;
};

/// The functions of an observer that handles many requests.
template <class Request>
class observes_requests {
 public:
  /// @cond
  using requests_base = observes_requests;
  /// @endcond
  virtual ~observes_requests() = default;
  /// The next request.
  virtual void on_message(Request message) = 0;
  /// The client has ended its requests.
  virtual void on_half_close() = 0;
  /// @cond  For the library.
  [[nodiscard]] server_internal::request_demand& demand() noexcept { return *demand_; }
  /// @endcond

 protected:
  /// The requests of the call.
  [[nodiscard]] request_flow requests() const noexcept { return request_flow(demand_); }

 private:
  std::shared_ptr<server_internal::request_demand> demand_ =
      std::make_shared<server_internal::request_demand>();
};

/// The functions of an observer that sends many replies.
template <class Reply>
class makes_replies {
 public:
  /// @cond
  using replies_base = makes_replies;
  /// @endcond
  virtual ~makes_replies() = default;
  /// There is room for replies: at the beginning of the call, and after is_ready() has been false.
  virtual void on_ready() {}
  /// @cond  For the library.
  [[nodiscard]] server_internal::unsent_replies<Reply>& unsent() noexcept { return *unsent_; }
  /// @endcond

 protected:
  /// The replies of the call.
  [[nodiscard]] reply_stream<Reply> replies() const noexcept { return reply_stream<Reply>(unsent_); }

 private:
  std::shared_ptr<server_internal::unsent_replies<Reply>> unsent_ =
      std::make_shared<server_internal::unsent_replies<Reply>>();
};

/// The handler of one call, as an object whose functions are called; observe() makes it. Derive from one of
/// the three classes below.
///
/// The functions are called on the loop of the call, which they must not block, one after another. The object
/// belongs to the call, and is destroyed on that loop when the call has ended. Other threads use the handles
/// that requests(), replies() and responder() return, which may outlive it. An exception of a function ends
/// the call as one of a handler does.
class stream_observer {
 public:
  /// @cond
  using observer_base = stream_observer;
  /// @endcond
  /// Derived classes may have any constructor: see observe().
  stream_observer() noexcept = default;
  stream_observer(const stream_observer&) = delete;
  stream_observer& operator=(const stream_observer&) = delete;
  virtual ~stream_observer() = default;
  /// The call has ended before its status or reply: the client cancelled it or disconnected, its deadline
  /// passed, or the server ended it. No other function follows.
  virtual void on_cancel() {}
};

/// Handles a call with one request and many replies: override on_ready().
template <class Reply>
class server_streaming_observer : public stream_observer, public makes_replies<Reply> {
 public:
  /// The type of the replies.
  using reply_type = Reply;
};

/// Handles a call with many requests and one reply: override on_message() and on_half_close(), and call
/// responder().answer(), there or later.
template <class Request, class Reply>
class client_streaming_observer : public stream_observer, public observes_requests<Request> {
 public:
  /// The type of the requests.
  using request_type = Request;
  /// The type of the reply.
  using reply_type = Reply;
  /// @cond  For the library.
  [[nodiscard]] const std::shared_ptr<server_internal::answer_with<Reply>>& answer() const noexcept {
    return answer_;
  }
  /// @endcond

 protected:
  /// Answers the call. Its deadline() is not known, and its on_cancel() is not needed here.
  [[nodiscard]] const coracle::responder<Reply>& responder() const noexcept { return responder_; }

 private:
  std::shared_ptr<server_internal::answer_with<Reply>> answer_ =
      std::make_shared<server_internal::answer_with<Reply>>(never);
  coracle::responder<Reply> responder_{answer_};
};

/// Handles a call with many requests and many replies: override on_message() and on_half_close(), and call
/// replies().write() and finish(), there or later.
template <class Request, class Reply>
class bidi_observer : public stream_observer, public observes_requests<Request>, public makes_replies<Reply> {
 public:
  /// The type of the requests.
  using request_type = Request;
  /// The type of the replies.
  using reply_type = Reply;
};

/// The return value of a handler of a server-streaming call: makes an Observer with `arguments`, which
/// handles the call.
///
///   coracle::replies<Text> Repeat(coracle::server_context& context, const Text& request) override {
///     return coracle::observe<repeater>(context, request);
///   }
///
/// Arguments are passed to the constructor at once. The context and the request may be used by it, and not
/// later.
template <class Observer, class... Arguments>
  requires std::constructible_from<Observer, Arguments...> &&
           std::derived_from<Observer, server_streaming_observer<typename Observer::reply_type>>
[[nodiscard]] replies<typename Observer::reply_type> observe(server_context& context,
                                                             Arguments&&... arguments) {
  return server_internal::send_observed<Observer>(
      context, std::make_unique<Observer>(std::forward<Arguments>(arguments)...));
}
/// The same for a client-streaming call.
template <class Observer, class... Arguments>
  requires std::constructible_from<Observer, Arguments...> &&
           std::derived_from<Observer, client_streaming_observer<typename Observer::request_type,
                                                                 typename Observer::reply_type>>
[[nodiscard]] reply<typename Observer::reply_type> observe(server_context& context,
                                                           reader<typename Observer::request_type> requests,
                                                           Arguments&&... arguments) {
  return server_internal::receive_observed<Observer>(
      context, requests, std::make_unique<Observer>(std::forward<Arguments>(arguments)...));
}
/// The same for a call with many requests and many replies.
template <class Observer, class... Arguments>
  requires std::constructible_from<Observer, Arguments...> &&
           std::derived_from<Observer,
                             bidi_observer<typename Observer::request_type, typename Observer::reply_type>>
[[nodiscard]] replies<typename Observer::reply_type> observe(server_context& context,
                                                             reader<typename Observer::request_type> requests,
                                                             Arguments&&... arguments) {
  return server_internal::exchange_observed<Observer>(
      context, requests, std::make_unique<Observer>(std::forward<Arguments>(arguments)...));
}

}  // namespace coracle
