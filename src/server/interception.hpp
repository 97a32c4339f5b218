// interception: runs the chain of interceptors around one call of a server.
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

// Belongs to a server_call whose server has interceptors, and runs between the call and its handler: it
// starts the handler, and holds back the reply and the status until the outermost interceptor has returned.
// Some functions say that both may be gone: call and chain may then be destroyed when they return.
class interception final : public rpc::interceptor_chain, coro::completion, coro::work, public coro::pooled {
 public:
  interception(server_call& c, server_interceptors chain) noexcept;
  interception(const interception&) = delete;
  interception& operator=(const interception&) = delete;

  // --- from the call
  // The request headers have arrived. Both may be gone.
  void begin() noexcept;
  // Everything that the handler needs to start has arrived. Both may be gone.
  void request_ready() noexcept;
  // The call ended before its handler did; the loop's queue resumes the awaiting interceptor.
  void call_over(const status& why) noexcept;
  // The handler has ended with a reply, which stays where it is, or with a status.
  void handler_ended(const rpc::codec* k, const void* reply, const status& why) noexcept;
  // The coroutine to resume after that; a no-op if the handler ended while it was being started.
  [[nodiscard]] std::coroutine_handle<> resumed_by_handler() const noexcept;
  [[nodiscard]] bool holds_reply() const noexcept { return reply_ != nullptr; }
  [[nodiscard]] std::size_t reply_bytes() const noexcept { return reply_codec_->size_bytes(reply_); }

 private:
  enum class handler : std::uint8_t { unasked, asked, running, ended };

  // rpc::interceptor_chain
  then step(std::size_t index, std::coroutine_handle<> waiter, const coro::environment& inherited,
            task<status>::handle& child, status& failure) noexcept override;
  status result(std::size_t index, task<status>::handle child, const status& failure) noexcept override;
  // True if next() has to wait for the handler.
  bool ask_handler(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept;
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
  status handler_status_;
  status over_with_;
  handler handler_ = handler::unasked;
  bool request_ready_ = false;
  bool starting_ = false;
  bool over_ = false;
};

}  // namespace coracle::server_internal
