// unary_call<Reply>: one request and one reply, awaited. owning_unary_call also owns its request.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/client/method_path.hpp"
#include "coracle/client/with_callbacks.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/security/connection_peer.hpp"

#include <concepts>  // for generated stubs
#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

class call_details;
namespace rpc {
class message_path;  // private: src/rpc/message_path.hpp
}

namespace client {

/// The part of a unary call that does not depend on its types.
class unary_operation {
 public:
  unary_operation(const unary_operation&) = delete;
  unary_operation& operator=(const unary_operation&) = delete;

  /// Returns the initial metadata that arrived with the reply; valid after the await.
  [[nodiscard]] const metadata& initial_metadata() const noexcept { return initial_; }
  /// Returns the trailing metadata that arrived with the status; valid after the await.
  [[nodiscard]] const metadata& trailing_metadata() const noexcept { return trailing_; }
  /// Returns the server that the call was sent to, by its last attempt; null if there was no connection.
  /// Valid after the await.
  [[nodiscard]] const std::shared_ptr<const connection_peer>& peer() const noexcept { return peer_; }
  /// Returns whether the reply was compressed; valid after the await.
  [[nodiscard]] bool read_compressed() const noexcept { return read_compressed_; }
  /// @cond  For sync_wait(): the loop on which a plain thread may run the call.
  [[nodiscard]] loop& blocking_loop() const { return channel_.blocking_loop(); }
  // Makes the call independent of its stub and of the caller's request, which it serializes, or copies for
  // interceptors unless it owns one. Before the await. Returns the loop on which to start the call. Throws
  // std::bad_alloc.
  loop& hold();
  // For then(), after the await.
  [[nodiscard]] const char* method() const noexcept { return path_.text(); }
  [[nodiscard]] call_details take_details() noexcept;
  /// @endcond

 protected:
  // A request that is copied, and its copy.
  using request_copy = std::shared_ptr<const void>;
  using copy_function = request_copy (*)(const void* request);
  unary_operation(const channel& by, method_path path, const rpc::codec& request_codec, const void* request,
                  copy_function copy_request, const rpc::codec& reply_codec, void* reply,
                  const call_options& options)
      : channel_(by.implementation()),
        path_(path),
        request_codec_(request_codec),
        reply_codec_(reply_codec),
        request_(request),
        copy_request_(copy_request),
        reply_(reply) {
    if (&options != &call_options::defaults()) options_.emplace(options);
  }
  // Only before the await. The other one has no request any more: to start it is misuse.
  unary_operation(unary_operation&& other, void* reply);
  ~unary_operation();
  // For a call that owns its request: its object has moved.
  void set_request(const void* request) noexcept { request_ = request; }
  [[nodiscard]] bool has_request() const noexcept { return request_; }
  // Returns true if the coroutine has to wait.
  bool start(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;

  status status_;
  // Destroys a request that the operation owns; null if it does not own one.
  void (*release_)(unary_operation&) noexcept = nullptr;

 private:
  friend class client_call;
  friend class unary_chain;
  // With interceptors: start_chain() takes the place of start(), and start_attempt() replaces the previous
  // attempt by a new one.
  bool start_chain(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;
  void start_attempt(const coro::environment& inherited, const call_options& options,
                     const rpc::message_to_send& request, rpc::message_path* replies) noexcept;
  // A call is started once: the second time its result is an error.
  [[nodiscard]] bool refuse_second_start() noexcept;
  // False with interceptors, because they may repeat the call.
  [[nodiscard]] bool may_release() const noexcept { return release_ && !chain_; }
  // Throws std::bad_alloc.
  void make_call();
  call_channel& channel_;
  method_path path_;
  const rpc::codec& request_codec_;
  const rpc::codec& reply_codec_;
  const void* request_;
  copy_function copy_request_;
  void* reply_;
  // Nothing: all defaults. Moved into the call when it begins, unless there are interceptors.
  std::optional<call_options> options_;
  client_call* call_ = nullptr;  // from hold() on, or while in flight
  unary_chain* chain_ = nullptr;  // null: no interceptors
  std::coroutine_handle<> waiter_;
  metadata initial_;
  metadata trailing_;
  std::shared_ptr<const connection_peer> peer_;
  bool read_compressed_ = false;
  // What hold() has made.
  std::shared_ptr<call_channel> held_channel_;
  request_copy held_request_;
};

}  // namespace client

/// A unary call, which must be awaited once: `auto reply = co_await stub.Method(request, options);` returns
/// `result<Reply>`. It may be moved until then.
///
/// The request must outlive the await, or be moved in; the options are copied. The stub, or another handle of
/// the channel, must exist until the await begins: `co_await stub(channel).Method(request)` is correct, and
/// so is dropping the stub during the await. The call resumes on the loop on which it was awaited. It
/// inherits the deadline and the stop token of the awaiting task: whichever is first ends the call with
/// DEADLINE_EXCEEDED or CANCELLED, and notifies the server.
///
/// Programs without coroutines use sync_wait(), then() or future(): `stub.Method(request).then(f)`; see
/// coracle/client/then.hpp.
template <class Reply>
class [[nodiscard]] unary_call : public client::unary_operation,
                                 public client::unary_callbacks<unary_call<Reply>, Reply> {
 public:
  /// What co_await returns.
  using value_type = result<Reply>;
  /// Made by stubs. The request must outlive the await.
  template <class Request>
  unary_call(const channel& by, method_path path, const Request& request, const call_options& options)
      : client::unary_operation(by, path, rpc::codec_of<Request>::get(),
                                rpc::codec_of<Request>::address(request), &unary_call::copy<Request>,
                                rpc::codec_of<Reply>::get(), rpc::codec_of<Reply>::address(message_),
                                options) {}
  /// Moves a call that was not awaited yet.
  unary_call(unary_call&& other)
      : client::unary_operation(std::move(other), rpc::codec_of<Reply>::address(message_)) {}

  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  result<Reply> await_resume() {
    if (!status_.ok()) return status_;
    return std::move(message_);
  }
  /// @endcond

 private:
  template <class Request>
  static request_copy copy(const void* request) {
    CORACLE_REQUIRE(std::is_copy_constructible_v<Request>,
                    "a request that cannot be copied must be moved into a call that no coroutine awaits");
    if constexpr (std::is_copy_constructible_v<Request>) {
      auto copy = std::make_shared<const Request>(*rpc::message_at<const Request>(request));
      const void* const address = rpc::codec_of<Request>::address(*copy);
      return {std::move(copy), address};
    }
    return {};
  }
  Reply message_;
};

/// @cond
namespace client {

template <class Request>
struct owned_request {
  std::optional<Request> own_;
};

}  // namespace client
/// @endcond

/// A unary call that owns its request, as a stub returns it for `stub.Method(std::move(request))`. The source
/// object may be destroyed before the await begins.
///
/// A request of more than 64 KiB is destroyed once it has been serialized, unless interceptors may need it
/// again. A call with a request of more than 256 KiB is not retried transparently (gRFC A6), but a retry
/// policy still applies.
template <class Request, class Reply>
class [[nodiscard]] owning_unary_call
    : private client::owned_request<Request>,
      public unary_call<Reply>,
      public client::unary_callbacks<owning_unary_call<Request, Reply>, Reply> {
 public:
  using client::unary_callbacks<owning_unary_call, Reply>::then;
  using client::unary_callbacks<owning_unary_call, Reply>::future;
  /// Made by stubs, for a request that is moved in.
  owning_unary_call(const channel& by, method_path path, Request&& request, const call_options& options)
      : client::owned_request<Request>{std::move(request)},
        unary_call<Reply>(by, path, *this->own_, options) {
    this->release_ = [](client::unary_operation& self) noexcept {
      static_cast<owning_unary_call&>(self).own_.reset();
    };
  }
  /// Moves a call that was not awaited yet.
  owning_unary_call(owning_unary_call&& other)
      : client::owned_request<Request>{std::move(other.own_)}, unary_call<Reply>(std::move(other)) {
    if (this->has_request()) this->set_request(rpc::codec_of<Request>::address(*this->own_));
  }
};

}  // namespace coracle
