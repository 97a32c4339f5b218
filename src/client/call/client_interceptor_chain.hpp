// client_interceptor_chain: the interceptors around one call of a client.
#pragma once

#include "client/call/client_call.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/rpc/intercepted_message.hpp"
#include "rpc/message_format.hpp"
#include "rpc/message_path.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace coracle::client {

using client_interceptors = std::span<const std::shared_ptr<client_interceptor>>;

// Returns the status for an exception that escaped from an interceptor.
[[gnu::cold]] status status_of_escape(const std::exception_ptr& error) noexcept;

// Returns the status that `f` gives, or that of its exception.
template <class F>
status run_hooks(F f) noexcept {
  try {
    return f();
  } catch (...) {
    return status_of_escape(std::current_exception());
  }
}

// Belongs to the call that it surrounds. If the call is destroyed before its end, the chain owns itself and
// deletes itself when its interceptors have ended. On the loop of the call.
class client_interceptor_chain : public client_context,
                                 public rpc::interceptor_chain,
                                 public coro::pooled,
                                 private coro::completion,
                                 private coro::timer,
                                 private coro::runnable {
 public:
  virtual ~client_interceptor_chain();

  // Runs the first interceptor; finish_chain() may run before this returns. `stop`: that of the whole call,
  // besides cancel().
  void begin(const coro::environment& inherited, const coro::stop_token& stop) noexcept;
  // What handles of one channel have in common.
  [[nodiscard]] const void* channel_identity() const noexcept { return channel_identity_; }
  // Requests the interceptors to stop.
  void cancel() noexcept { stop_.request_stop(); }
  // The owner gives up the chain, which then owns itself.
  virtual void orphan() noexcept;

 protected:
  client_interceptor_chain(call_channel& by, std::string_view method, const call_options& options,
                           bool repeatable, bool one_request);

  // Starts the call, in place of an earlier attempt; attempt_ended() follows, possibly before this returns.
  virtual void start_attempt(const coro::environment& e) noexcept = 0;
  // The outermost interceptor has ended. Deletes this.
  virtual void finish_chain(const status& outcome) noexcept = 0;
  // The call that start_attempt() started has ended. `inside`: its waiter may be resumed here.
  void attempt_ended(const status& outcome, const metadata& initial, const metadata& trailing,
                     bool inside) noexcept;
  [[nodiscard]] bool attempt_succeeded() const noexcept { return attempts_started_ > 0 && last_.ok(); }
  // The one request as the caller made it, and the one reply; null for streams of them.
  virtual intercepted_message* first_request() noexcept = 0;
  virtual intercepted_message* one_reply() noexcept = 0;
  // The one request, after the hooks of the levels that are awaited.
  [[nodiscard]] intercepted_message* current_request() noexcept {
    return innermost_ ? innermost_->request.get() : first_request();
  }
  [[nodiscard]] bool has_hooks() const noexcept { return innermost_ != nullptr; }
  void pass_initial_metadata(const metadata& initial) noexcept {
    for (level* l = innermost_; l; l = l->outer) l->hooks->on_initial_metadata(initial);
  }
  // The hooks of the levels that are awaited. Throws std::bad_alloc.
  [[nodiscard]] rpc::hook_list hooks() const;
  [[nodiscard]] bool abandoned() const noexcept { return orphaned_; }
  [[nodiscard]] bool attempt_started() const noexcept { return attempts_started_ != 0; }

 private:
  // rpc::interceptor_chain
  next_step step(std::size_t index, level& at, std::coroutine_handle<> waiter,
                 const coro::environment& inherited, task<status>::handle& child,
                 status& failure) noexcept override;
  status result(level& at, task<status>::handle child, const status& failure) noexcept override;
  [[nodiscard]] bool has_request() const noexcept override { return one_request_; }
  [[nodiscard]] bool has_reply() const noexcept override { return repeatable_; }
  intercepted_message& request() override;
  intercepted_message& reply() override;
  // Passes the one request through the hooks of `at`.
  [[nodiscard]] status enter(level& at) noexcept;
  // coro::completion
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override;
  task<status>::handle open(std::size_t index, status& failure) noexcept;
  void arm_deadline(const coro::environment& outer) noexcept;

  const std::shared_ptr<call_channel> keeps_;  // the channel and its interceptors
  const void* channel_identity_;
  client_interceptors chain_;
  coro::stop_source stop_;
  struct caller_stop : coro::stop_callback {
    explicit caller_stop(client_interceptor_chain& c) noexcept;
    client_interceptor_chain& owner;
  } on_caller_stop_;
  coro::environment environment_;
  std::coroutine_handle<> waiter_;  // in the innermost next(), while an attempt is running
  status last_;  // of the last attempt
  level* innermost_ = nullptr;  // of the levels with hooks
  std::size_t depth_ = 0;  // how many levels are awaited
  unsigned attempts_started_ = 0;
  const bool one_request_;
  bool starting_ = false;
  bool resuming_ = false;
  bool expired_ = false;
  bool orphaned_ = false;
};

// Deleted when its interceptors have ended; unary_operation::chain_ is null then.
class unary_chain final : public client_interceptor_chain, public rpc::message_path {
 public:
  unary_chain(call_channel& by, unary_operation& op, const char* path, const call_options& options);

  // The coroutine to resume at the end.
  void set_waiter(std::coroutine_handle<> waiter) noexcept { owner_ = waiter; }
  // Called by the client_call.
  void on_attempt_ended(const status& outcome, bool inside) noexcept;
  void orphan() noexcept override;

 private:
  void start_attempt(const coro::environment& e) noexcept override;
  void finish_chain(const status& outcome) noexcept override;
  intercepted_message* first_request() noexcept override;
  intercepted_message* one_reply() noexcept override;
  // rpc::message_path
  status received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) override;
  void headers_received(const metadata& initial) noexcept override { pass_initial_metadata(initial); }
  // client_context
  [[nodiscard]] const connection_peer* current_peer() const noexcept override;
  // Follows the options, which the interceptors may change at any time.
  void use_codec() noexcept;
  [[nodiscard]] std::uint32_t max_receive_bytes() const noexcept;
  [[nodiscard]] status deliver_answer() noexcept;

  unary_operation& op_;
  std::coroutine_handle<> owner_;
  rpc::message_format format_;
  intercepted_message request_;
  intercepted_message reply_;
};

class stream_chain final : public client_interceptor_chain {
 public:
  // request: null for a stream of requests.
  stream_chain(call_channel& by, client_call& c, const char* path, const call_options& options,
               std::unique_ptr<intercepted_message> request)
      : client_interceptor_chain(by, path, options, false, request != nullptr),
        call_(c),
        request_(std::move(request)) {}

  // Called by the call. Its readers and writers learn of its end from finish_chain().
  void on_attempt_ended() noexcept {
    attempt_ended(call_.outcome(), call_.initial(), call_.trailing(), false);
  }

 private:
  void start_attempt(const coro::environment& e) noexcept override;
  intercepted_message* first_request() noexcept override;
  intercepted_message* one_reply() noexcept override { return nullptr; }
  [[nodiscard]] const connection_peer* current_peer() const noexcept override {
    return abandoned() ? nullptr : call_.peer().get();
  }
  // this is deleted
  void finish_chain(const status& outcome) noexcept override { call_.finish_chain(outcome); }

  client_call& call_;
  std::unique_ptr<intercepted_message> request_;
};

}  // namespace coracle::client
