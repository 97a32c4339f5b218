// interception: the chain of interceptors around one call of a server.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::server_internal {

class server_call;

using server_interceptors = std::span<server_interceptor* const>;

// Belongs to a server_call whose server has interceptors, and stands between it and its handler: it starts the
// handler, and holds the reply and status back until the outermost interceptor has said what becomes of them.
// Where the comments say so, call and chain may be gone afterwards.
class interception final : public rpc::interceptor_chain, coro::completion, coro::work, public coro::pooled {
 public:
  interception(server_call& c, server_interceptors chain) noexcept;
  interception(const interception&) = delete;
  interception& operator=(const interception&) = delete;

  // --- from the call
  // The head is there. Both may be gone.
  void begin() noexcept;
  // So is all that the handler needs to start. Both may be gone.
  void request_ready() noexcept;
  // The call ended before its handler did; who waits is resumed through the loop's queue.
  void call_over(const status& why) noexcept;
  // The handler has ended: with a reply, which stays where it is, or a status.
  void handler_ended(const rpc::codec* k, const void* reply, const status& why) noexcept;
  // Whom to resume after that; nobody where the handler ended within its start.
  [[nodiscard]] std::coroutine_handle<> resumed_by_handler() const noexcept;
  [[nodiscard]] bool holds_reply() const noexcept { return reply_ != nullptr; }
  [[nodiscard]] std::size_t reply_bytes() const noexcept { return reply_codec_->size_bytes(reply_); }

 private:
  enum class handler : std::uint8_t { unasked, asked, running, ended };

  // rpc::interceptor_chain
  then step(std::size_t index, std::coroutine_handle<> waiter, const coro::environment& inherited,
            task<status>::handle& child, status& failure) noexcept override;
  status result(std::size_t index, task<status>::handle child, const status& failure) noexcept override;
  // True when next() has to wait for the handler.
  bool ask_handler(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;
  // True when it has ended already.
  bool start_handler() noexcept;
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override;
  // intercept() of the one with that number; null, and why in `failure`.
  [[nodiscard]] task<status>::handle open(std::size_t index, status& failure) noexcept;
  // What `h` ended with; the call's own end comes first.
  status outcome_of(task<status>::handle h) noexcept;

  server_call& call_;
  server_interceptors chain_;
  std::coroutine_handle<> waiter_;  // in the innermost next()
  const rpc::codec* reply_codec_ = nullptr;
  const void* reply_ = nullptr;
  status handler_status_;
  status over_with_;
  handler handler_ = handler::unasked;
  bool request_ready_ = false;
  bool starting_ = false;
  bool over_ = false;
};

}  // namespace coracle::server_internal
