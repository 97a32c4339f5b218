// server_interceptor_chain: runs the chain of interceptors around one call of a server.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/intercepted_message.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "rpc/message_path.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace coracle::server_internal {

class server_call;

using server_interceptors = std::span<const std::shared_ptr<server_interceptor>>;

// Belongs to a server_call whose server has interceptors, and runs between the call and its handler: it
// starts the handler, and holds back the reply and the status until the outermost interceptor has returned.
// Some functions say that both may be gone: call and chain may then be destroyed when they return.
class server_interceptor_chain final : public rpc::interceptor_chain,
                                       public rpc::message_path,
                                       coro::completion,
                                       coro::runnable,
                                       public coro::pooled {
 public:
  server_interceptor_chain(server_call& c, server_interceptors chain) noexcept;
  server_interceptor_chain(const server_interceptor_chain&) = delete;
  server_interceptor_chain& operator=(const server_interceptor_chain&) = delete;

  // --- from the call
  // The request headers have arrived. Both may be gone.
  void begin() noexcept;
  // Everything that the handler needs to start has arrived. Both may be gone.
  void request_ready() noexcept;
  // The call ended before its handler did; the loop's queue resumes the awaiting interceptor.
  void on_call_ended(const status& reason) noexcept;
  // The handler has ended with a reply, which stays where it is, or with a status.
  void handler_ended(const rpc::codec* k, const void* reply, const status& reason) noexcept;
  // The coroutine to resume after that; a no-op if the handler ended while it was being started.
  [[nodiscard]] std::coroutine_handle<> resumed_by_handler() const noexcept;
  void headers_sent(const metadata& initial) noexcept;
  // The status of a handler that ran and has ended.
  [[nodiscard]] std::optional<status> handler_outcome() const {
    if (!handler_ran_ || handler_ != handler::ended) return std::nullopt;
    return handler_status_;
  }
  [[nodiscard]] bool holds_reply() const noexcept { return held_reply().message != nullptr; }
  [[nodiscard]] std::size_t reply_bytes() const noexcept {
    const rpc::message_to_send held = held_reply();
    return held.k->size_bytes(held.message);
  }
  // Whether the one request may be decoded. Before that, the call keeps its bytes: if an interceptor rejects
  // the call, they are never decoded.
  [[nodiscard]] bool wants_request() const noexcept {
    return handler_ != handler::not_requested || request_wanted_;
  }

  // --- from request_awaiter
  // Returns true if `a` has to wait.
  bool wait_for_request(request_awaiter& a) noexcept;
  void stop_waiting(request_awaiter& a) noexcept;
  void forget(request_awaiter& a) noexcept {
    if (scope_creator_ == &a) scope_creator_ = nullptr;
  }

 private:
  enum class handler : std::uint8_t { not_requested, requested, running, ended };

  // rpc::interceptor_chain
  next_step step(std::size_t index, level& at, std::coroutine_handle<> waiter,
                 const coro::environment& inherited, task<status>::handle& child,
                 status& failure) noexcept override;
  status result(level& at, task<status>::handle child, const status& failure) noexcept override;
  [[nodiscard]] bool has_request() const noexcept override;
  [[nodiscard]] bool has_reply() const noexcept override;
  intercepted_message& request() override;
  intercepted_message& reply() override;
  // rpc::message_path
  status received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) override;
  status sent(intercepted_message& m) override;
  void incoming_ended() noexcept override;

  [[nodiscard]] status add_hooks(const std::shared_ptr<message_hooks>& hooks) noexcept;
  // Passes the one request through the hooks that it has not passed yet.
  [[nodiscard]] status pass_request() noexcept;
  // Decodes the one request, if its bytes were kept.
  void deliver_request() noexcept;
  // Returns the status that `f` gives, or that of its exception.
  template <class F>
  status run_hooks(F f) noexcept;
  // What the call replies; a null message: it has no reply.
  [[nodiscard]] rpc::message_to_send held_reply() const noexcept;
  // True if next() has to wait for the handler.
  bool request_handler(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;
  // True if the handler has ended already.
  bool start_handler() noexcept;
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override;
  // Starts intercept() of the interceptor at `index`; null if that failed, with the reason in `failure`.
  [[nodiscard]] task<status>::handle open(std::size_t index, status& failure) noexcept;
  // The status with which `h` ended; the call's own end takes precedence.
  status outcome_of(task<status>::handle h) noexcept;

  server_call& call_;
  server_interceptors chain_;
  std::coroutine_handle<> waiter_;  // in the innermost next()
  const rpc::codec* reply_codec_ = nullptr;
  const void* reply_ = nullptr;
  rpc::hook_list hooks_;
  std::size_t passed_ = 0;  // how many of them the one request has passed
  std::optional<intercepted_message> request_view_;  // once the one request has arrived and was asked for
  std::optional<intercepted_message> reply_view_;  // once it was asked for
  request_awaiter* scope_creator_ = nullptr;
  status refused_;  // the reason why no handler gets the one request
  status handler_status_;
  status call_outcome_;
  handler handler_ = handler::not_requested;
  bool request_ready_ = false;
  bool request_wanted_ = false;  // by next.request()
  bool asking_ = false;
  bool handler_ran_ = false;
  bool starting_ = false;
  bool call_ended_ = false;
  bool requests_ended_ = false;  // of a stream of them
};

}  // namespace coracle::server_internal
