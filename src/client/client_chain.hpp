// client_chain: the interceptors around one call of a client.
#pragma once

#include "client/client_call.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <cstddef>
#include <span>

namespace coracle::client {

using client_interceptors = std::span<client_interceptor* const>;

// Belongs to the call that it surrounds. If the call is destroyed before its end, the chain owns itself and
// deletes itself when its interceptors have ended. On the loop of the call.
class client_chain : public client_context,
                     public rpc::interceptor_chain,
                     public coro::pooled,
                     private coro::completion,
                     private coro::timer,
                     private coro::work {
 public:
  virtual ~client_chain();

  // Runs the first interceptor; settle() may run before this returns. `stop`: that of the whole call, besides
  // cancel().
  void begin(const coro::environment& inherited, const coro::stop_token& stop) noexcept;
  // Requests the interceptors to stop.
  void cancel() noexcept { stop_.request_stop(); }
  // The owner gives up the chain, which then owns itself.
  void abandon() noexcept;

 protected:
  client_chain(client_interceptors chain, std::string_view method, const call_options& options,
               bool repeatable);

  // Starts the call, in place of an earlier attempt; tried() follows, possibly before this returns.
  virtual void try_once(const coro::environment& e) noexcept = 0;
  // The outermost interceptor has ended. Deletes this.
  virtual void settle(const status& how) noexcept = 0;
  // The call that try_once() started has ended. `inside`: its waiter may be resumed here.
  void tried(const status& how, const metadata& initial, const metadata& trailing, bool inside) noexcept;
  [[nodiscard]] bool tried_well() const noexcept { return tries_ > 0 && last_.ok(); }

 private:
  // rpc::interceptor_chain
  then step(std::size_t index, std::coroutine_handle<> waiter, const coro::environment& inherited,
            task<status>::handle& child, status& failure) noexcept override;
  status result(std::size_t index, task<status>::handle child, const status& failure) noexcept override;
  // coro::completion
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override;
  task<status>::handle open(std::size_t index, status& failure) noexcept;
  void arm_deadline(const coro::environment& outer) noexcept;

  client_interceptors chain_;
  coro::stop_source stop_;
  struct outer_stop : coro::stop_callback {
    explicit outer_stop(client_chain& c) noexcept;
    client_chain& owner;
  } on_outer_stop_;
  coro::environment environment_;
  std::coroutine_handle<> waiter_;  // in the innermost next(), while an attempt is running
  status last_;  // of the last attempt
  unsigned tries_ = 0;
  bool starting_ = false;
  bool resuming_ = false;
  bool expired_ = false;
  bool abandoned_ = false;
};

// Deleted when its interceptors have ended; unary_operation::chain_ is null then.
class unary_chain final : public client_chain {
 public:
  unary_chain(client_interceptors chain, unary_operation& op, const char* path, const call_options& options);

  // The coroutine to resume at the end.
  void set_waiter(std::coroutine_handle<> waiter) noexcept { owner_ = waiter; }
  // Called by the client_call.
  void try_ended(const status& how, bool inside) noexcept;

 private:
  void try_once(const coro::environment& e) noexcept override;
  void settle(const status& how) noexcept override;

  unary_operation& op_;
  std::coroutine_handle<> owner_;
};

class stream_chain final : public client_chain {
 public:
  stream_chain(client_interceptors chain, client_call& c, const char* path, const call_options& options)
      : client_chain(chain, path, options, false), call_(c) {}

  // Called by the call. Its readers and writers learn of its end from settle().
  void try_ended() noexcept { tried(call_.outcome(), call_.initial(), call_.trailing(), false); }

 private:
  void try_once(const coro::environment& e) noexcept override { call_.begin_try(e, options_); }
  void settle(const status& how) noexcept override { call_.settle(how); }  // this is deleted

  client_call& call_;
};

}  // namespace coracle::client
