// intercepted_message: one message of a call, as its interceptors see and change it.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <string>

namespace coracle {

namespace rpc {

class call;            // private: src/rpc/call.hpp
class message_format;  // private: src/rpc/message_format.hpp

}  // namespace rpc

/// A message on its way through the interceptors of a call: the same class on both sides, for requests and
/// replies, of unary calls and of streams.
///
/// It gives the bytes of the message or the typed message, and computes whichever it does not have. It is
/// changed through one of them, set_bytes() or edit(), and the latest change wins: the other form is computed
/// anew from it. The sender's own object never changes; edit() makes a copy of it first.
///
/// Use it on the loop of the call. What it returns is valid until the message is changed, the interceptor
/// waits, or the hook returns. bytes(), as() and edit() throw status_error if the message cannot be decoded
/// or encoded, and call_ended if the call has been destroyed; an exception that leaves an interceptor ends
/// its call.
class intercepted_message {
 public:
  /// Returns the message in the encoding of its call (protobuf's binary format, or that of
  /// call_options::codec), uncompressed and without the envelope. A received message that was not changed
  /// has the bytes that arrived.
  [[nodiscard]] bytes_view bytes();
  /// Replaces the message. The bytes are in the encoding of the call. They are checked against the limits of
  /// the call, and decoded if the receiver is in this process, after the interceptors. So max_receive_bytes
  /// also limits what an interceptor decrypts or decompresses on its own.
  void set_bytes(std::string bytes);
  /// The same, of a copy of `bytes`.
  void set_bytes(bytes_view bytes) { set_bytes(std::string(as_text(bytes))); }

  /// Returns whether the message is an M. For M = google::protobuf::Message: whether it is any message of
  /// protobuf that has reflection. Messages of generic calls are bytes_message.
  template <class M>
  [[nodiscard]] bool is() const noexcept {
    return is_of(rpc::message_type_of<M>);
  }
  /// Returns the message as an M. Throws usage_error if it is not one.
  template <class M>
  [[nodiscard]] const M& as() {
    return *rpc::message_at<M>(const_cast<void*>(typed(rpc::message_type_of<M>)));
  }
  /// Returns the message to be changed in place. Throws usage_error if it is not an M. A message that is sent
  /// must still fit max_send_bytes. A received one is not measured again: max_receive_bytes protects from the
  /// peer, whose bytes were checked when they arrived.
  template <class M>
  [[nodiscard]] M& edit() {
    return *rpc::message_at<M>(writable(rpc::message_type_of<M>));
  }

  /// @cond  For the library.
  // A message that `c` has received. It is decoded into `into`, which belongs to its reader; `body` is
  // borrowed.
  intercepted_message(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) noexcept;
  // A message of the caller, which stays as it is.
  intercepted_message(const rpc::message_format& format, const rpc::codec& k, const void* message) noexcept;
  // An object that may be changed in place: a reply, before and after it has arrived.
  intercepted_message(const rpc::message_format& format, const rpc::codec& k, void* message) noexcept;
  // An empty message of a type.
  intercepted_message(const rpc::message_format& format, const rpc::message_type& type);
  // The same message as `*outer`, which must outlive it, and does not change when this one does.
  explicit intercepted_message(const intercepted_message* outer) noexcept;
  intercepted_message(const intercepted_message&) = delete;
  intercepted_message& operator=(const intercepted_message&) = delete;
  ~intercepted_message() { destroy_own(); }

  // Takes a copy of what was borrowed, so that the caller's object may be destroyed.
  void own();
  // Decodes the message if that is not done yet, within the limits of its call. `receive_limit`: for bytes
  // that were set. Throws std::bad_alloc.
  [[nodiscard]] status deliver(std::uint32_t receive_limit);
  // Whether an interceptor has changed the message.
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  // Borrowed from this object.
  [[nodiscard]] rpc::message_to_send to_send() const noexcept;
  // The object has been filled with a message that arrived as `body`; null: these bytes are not kept.
  void refilled(const bytes_view* body);
  // The call is gone, and with it what this refers to.
  void forget() noexcept { gone_ = true; }
  /// @endcond

 private:
  [[nodiscard]] bool is_of(const rpc::message_type& t) const noexcept;
  [[nodiscard]] const void* typed(const rpc::message_type& t);
  [[nodiscard]] void* writable(const rpc::message_type& t);
  void require_type(const rpc::message_type& t) const;
  void require_call() const;
  void make_own(const rpc::message_type* t);
  void destroy_own() noexcept;
  [[nodiscard]] status decode();

  const rpc::message_format* format_;
  const rpc::codec* codec_;
  rpc::call* receiver_ = nullptr;  // decodes a received message
  // An object of the type, also while only the bytes are current. Null for a type with its own codec of
  // which there is none yet.
  const void* object_ = nullptr;
  void* writable_ = nullptr;  // object_, if it may be changed
  void* own_object_ = nullptr;
  void (*destroy_)(void*) = nullptr;  // of a type with its own codec
  bytes_message own_bytes_;
  const bytes_message* body_ = nullptr;  // what is sent if the bytes were set
  bytes_view bytes_;
  // At least one of the two is current; both, while neither has been changed.
  bool object_current_ = false;
  bool bytes_current_ = false;
  bool lent_ = false;  // edit() has given a reference, through which the object may change at any time
  bool changed_ = false;
  bool gone_ = false;
};

/// Sees each message of a call, on either side. An interceptor passes it to next():
///
///   class checks final : public coracle::message_hooks {
///     coracle::status on_request(coracle::intercepted_message& m) override { ... }
///   };
///   co_return co_await next(std::make_shared<checks>());
///
/// Requests pass the hooks of the interceptors from the outermost to the innermost, replies from the
/// innermost to the outermost. Each function returns OK to let the message pass, changed or not, or another
/// status, which ends the call. An exception ends it, too, as one of the interceptor itself does.
///
/// The call keeps the hooks until its last message has passed them, which may be after intercept() has ended:
/// a client may read the rest of a stream later. Hooks without state may be shared by all calls; hooks with
/// state are made for each call. The functions run on the loop of the call and must not block; they do not
/// wait, and do not end the call except by what they return.
class message_hooks {
 public:
  virtual ~message_hooks() = default;
  /// Sees a request: OK lets it pass. The default does.
  virtual status on_request(intercepted_message& /*m*/) { return {}; }
  /// Sees a reply: OK lets it pass. The default does.
  virtual status on_reply(intercepted_message& /*m*/) { return {}; }
  /// Learns that no request follows: after the one request of a call, or when a stream of requests has ended
  /// normally, for a server's hooks once its handler has read that end. At most once for each next().
  virtual void on_requests_end() noexcept {}
  /// Sees the initial metadata when it is sent or has arrived, before the replies of a stream. A server sends
  /// that of a single reply after its hooks, when the interceptors have ended. Not called if the response
  /// consists of a status alone.
  virtual void on_initial_metadata(const metadata& /*m*/) noexcept {}
};

}  // namespace coracle
