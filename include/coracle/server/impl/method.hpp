// method: a row of a service's method table, which maps a path to a member function of the service.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/server/impl/message_store.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/server_context.hpp"

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace google::protobuf {
class Arena;
}

namespace coracle {

class service;

enum class call_kind : std::uint8_t { unary, client_streaming, server_streaming, bidi };

namespace server_internal {

// Where to decode a message, and with which codec.
struct message_slot {
  const rpc::codec* k = nullptr;
  void* into = nullptr;
};

// The typed half of a server's call: holds the request and the handler's frame. method::make makes one for
// each call, or reuses one of an earlier call from the loop's message_store.
class handler_body : public coro::completion, public coro::pooled {
 public:
  handler_body() noexcept = default;
  handler_body(const handler_body&) = delete;
  handler_body& operator=(const handler_body&) = delete;
  virtual ~handler_body() = default;

  // The slot of the one request of a unary or server-streaming call, the same each time; empty for the other
  // kinds.
  virtual message_slot request(server_call& c) = 0;
  // Runs the handler until it suspends or ends.
  virtual void begin(service& s, server_call& c) = 0;
  // Called when handler and call have both ended: deletes the body, or gives it back. `wire_bytes`: see
  // message_store::give_back().
  virtual void end(message_store& to, std::size_t wire_bytes) noexcept = 0;
};

// The functions of the call that the bodies below need; defined in src/server/call/server_call.cpp.
server_context& context_of(server_call& c) noexcept;
rpc::call* stream_of(server_call& c) noexcept;
// Finishes the call with a reply. `frame` is the frame of the handler, which has reached its end; null if the
// handler was not a coroutine. The reply, status and error may be stored in it.
//
// True: the frame was destroyed, and call and body may be gone. False, if the call has interceptors: the body
// keeps the frame until it is cleared, and then resumes go_on().
[[nodiscard]] bool finish(server_call& c, std::coroutine_handle<> frame, const rpc::codec& k,
                          const void* reply) noexcept;
[[nodiscard]] bool finish(server_call& c, std::coroutine_handle<> frame, const status& outcome) noexcept;
// Finishes the call with the exception that escaped from the handler.
[[nodiscard]] bool finish(server_call& c, std::coroutine_handle<> frame,
                          const std::exception_ptr& error) noexcept;
// Finishes the call of a handler that gave neither a reply nor a status nor an exception.
[[nodiscard]] bool finish(server_call& c, std::coroutine_handle<> frame) noexcept;
[[nodiscard]] std::coroutine_handle<> go_on(server_call& c) noexcept;
[[nodiscard]] bool intercepted(const server_call& c) noexcept;
// The arena for the call's request; null unless its service uses one.
[[nodiscard]] google::protobuf::Arena* request_arena(server_call& c);
// Makes a message of the type of `prototype`; both pointers are those of rpc::codec_of<T>::address().
void* make_in(google::protobuf::Arena& arena, const void* prototype);

}  // namespace server_internal

struct method {
  const char* path;
  call_kind kind;
  server_internal::handler_body* (*make)(server_internal::message_store&);
  const rpc::message_type* reply;
  bool no_side_effects = false;  // its .proto says so: it may be called by GET requests

  [[nodiscard]] constexpr method without_side_effects() const noexcept {
    method m = *this;
    m.no_side_effects = true;
    return m;
  }
};
using method_table = std::span<const method>;

namespace server_internal {

// The argument of a handler: one request, or a stream of requests.
template <class Argument>
class argument;
template <class Request>
class argument<const Request&> {
 public:
  static constexpr bool streaming = false;
  static constexpr bool reused = is_reusable<Request>;
  message_slot slot(server_call& c) {
    const rpc::codec& k = rpc::codec_of<Request>::get();
    if constexpr (std::is_base_of_v<google::protobuf::MessageLite, Request>) {
      if (google::protobuf::Arena* a = request_arena(c)) [[unlikely]] {
        if (!in_arena_) {
          void* const made = make_in(*a, rpc::codec_of<Request>::address(request_));
          in_arena_ = static_cast<Request*>(static_cast<google::protobuf::MessageLite*>(made));
        }
        return {&k, rpc::codec_of<Request>::address(*in_arena_)};
      }
    }
    return {&k, rpc::codec_of<Request>::address(request_)};
  }
  const Request& get(server_call&) noexcept { return in_arena_ ? *in_arena_ : request_; }
  void clear() noexcept {
    in_arena_ = nullptr;
    request_.Clear();
  }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return measured_bytes(request_); }

 private:
  Request request_;
  Request* in_arena_ = nullptr;
};
template <class Request>
class argument<reader<Request>> {
 public:
  static constexpr bool streaming = true;
  static constexpr bool reused = false;
  message_slot slot(server_call&) { return {}; }
  reader<Request> get(server_call& c) noexcept { return reader<Request>(stream_of(c)); }
};

// The return type of a handler: how to start its frame, and how to finish the call with its result.
template <class Returned>
struct returned;
template <class Reply>
struct returned<reply<Reply>> {
  static constexpr bool streaming = false;
  static void prepare(reply_promise<Reply>&, server_call&) noexcept {}
  // The outcome is a reply<Reply> of an ordinary function, or the promise of a coroutine.
  template <class Outcome>
  static bool finish_with_result(Outcome& o, server_call& c, std::coroutine_handle<> frame) noexcept {
    if (const Reply* reply = o.sent())
      return finish(c, frame, rpc::codec_of<Reply>::get(), rpc::codec_of<Reply>::address(*reply));
    if constexpr (requires { o.error(); }) {
      if (o.error()) return finish(c, frame, o.error());
    }
    return o.status().ok() ? finish(c, frame) : finish(c, frame, o.status());
  }
};
template <class Reply>
struct returned<replies<Reply>> {
  static constexpr bool streaming = true;
  static void prepare(replies_promise<Reply>& p, server_call& c) noexcept { p.set_call(stream_of(c)); }
  template <class Outcome>
  static bool finish_with_result(Outcome& o, server_call& c, std::coroutine_handle<> frame) noexcept {
    if constexpr (requires { o.error(); }) {
      if (o.error()) return finish(c, frame, o.error());
    }
    return o.returned() ? finish(c, frame, o.status()) : finish(c, frame);
  }
};

template <class Function>
struct signature;
template <class Service, class Returned, class Argument>
struct signature<Returned (Service::*)(server_context&, Argument)> {
  using service = Service;
  using result = Returned;
  using parameter = Argument;
};

// The base of a body that is reused, and of one that is not: bodies of streams are numerous and long-lived,
// and do not pay for the members of `reusable`.
template <class Body, bool Reused>
class body_base : public handler_body, public reusable {
 public:
  void clear() noexcept { static_cast<Body&>(*this).forget_call(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    const std::size_t measured = static_cast<const Body&>(*this).request_bytes();
    return measured == 0 ? 0 : measured + sizeof(handler_body);
  }

 protected:
  body_base() noexcept : reusable(kind_of<Body>::assigned(), functions_of<Body>) {}
};
template <class Body>
class body_base<Body, false> : public handler_body {};

template <auto Handler>
class body_of final
    : public body_base<body_of<Handler>, argument<typename signature<decltype(Handler)>::parameter>::reused> {
  using types = signature<decltype(Handler)>;
  using outcome = returned<typename types::result>;
  using returned_type = typename types::result;
  using promise = typename returned_type::promise_type;
  using request_type = argument<typename types::parameter>;

 public:
  static constexpr bool streams_in = request_type::streaming;
  static constexpr bool streams_out = outcome::streaming;
  using reply_type = typename returned_type::reply_type;

  ~body_of() override {
    if (ended_) ended_.destroy();
  }
  static handler_body* make(message_store& from) {
    if constexpr (request_type::reused) {
      if (body_of* const kept = from.take<body_of>()) return kept;
    }
    return new body_of;
  }
  void end(message_store& to, std::size_t wire_bytes) noexcept override {
    if constexpr (request_type::reused) to.give_back(*this, wire_bytes);
    else delete this;
  }
  // For body_base, if the body is reused.
  void forget_call() noexcept {
    if (ended_ || kept_) [[unlikely]]
      forget_handler();  // its destructors may still read the request
    argument_.clear();
  }
  [[nodiscard]] std::size_t request_bytes() const noexcept { return argument_.memory_bytes(); }
  message_slot request(server_call& c) override { return argument_.slot(c); }
  void begin(coracle::service& s, server_call& c) override {
    call_ = &c;
    try {
      auto r = (static_cast<typename types::service&>(s).*Handler)(context_of(c), argument_.get(c));
      if (const auto frame = r.release()) {
        outcome::prepare(frame.promise(), c);
        frame.promise().inherit(context_of(c).environment());
        frame.promise().set_completion(*this);
        coro::promise_base::begin(frame, frame.promise());
        return;
      }
      if (!intercepted(c)) static_cast<void>(outcome::finish_with_result(r, c, {}));
      else
        static_cast<void>(
            outcome::finish_with_result(*(kept_ = std::make_unique<returned_type>(std::move(r))), c, {}));
    } catch (...) {
      static_cast<void>(finish(c, {}, std::current_exception()));
    }
  }
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override {
    if (outcome::finish_with_result(static_cast<promise&>(p), *call_, frame))
      return std::noop_coroutine();  // this may be gone now
    ended_ = frame;
    return go_on(*call_);
  }

 private:
  [[gnu::__cold__, gnu::__noinline__]] void forget_handler() noexcept {
    if (ended_) std::exchange(ended_, {}).destroy();
    kept_.reset();
  }

  server_call* call_ = nullptr;
  // With interceptors: the return value of the handler, including its reply, or its frame.
  std::unique_ptr<returned_type> kept_;
  std::coroutine_handle<> ended_;
  request_type argument_;
};

template <auto Handler, bool StreamsIn, bool StreamsOut>
constexpr method make_method(const char* path, call_kind kind) noexcept {
  using body = body_of<Handler>;
  static_assert(body::streams_in == StreamsIn,
                "the handler's second parameter does not match the .proto: a client stream is read from a "
                "reader<Request>, a single request is a const Request&");
  static_assert(
      body::streams_out == StreamsOut,
      "the handler's return type does not match the .proto: a stream of replies is a replies<Reply>, one is "
      "a reply<Reply>");
  return {path, kind, &body::make, &rpc::message_type_of<typename body::reply_type>};
}

}  // namespace server_internal

// Makes the rows of a generated table.
template <auto Handler>
constexpr method unary_method(const char* path) noexcept {
  return server_internal::make_method<Handler, false, false>(path, call_kind::unary);
}
template <auto Handler>
constexpr method client_streaming_method(const char* path) noexcept {
  return server_internal::make_method<Handler, true, false>(path, call_kind::client_streaming);
}
template <auto Handler>
constexpr method server_streaming_method(const char* path) noexcept {
  return server_internal::make_method<Handler, false, true>(path, call_kind::server_streaming);
}
template <auto Handler>
constexpr method bidi_method(const char* path) noexcept {
  return server_internal::make_method<Handler, true, true>(path, call_kind::bidi);
}

}  // namespace coracle
