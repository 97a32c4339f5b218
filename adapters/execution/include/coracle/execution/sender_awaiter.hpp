// sender_awaiter: co_await of a sender in a task, a handler, or another coroutine of this library.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/execution/provider.hpp"
#include "coracle/execution/queries.hpp"
#include "coracle/execution/sender.hpp"
#include "coracle/execution/start_scheduler.hpp"
#include "coracle/runtime/loop.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle {

/// The allocator in the environment of an awaiting task: recycled memory of the current loop. Memory may be freed on
/// any thread.
template <class T>
class loop_allocator {
 public:
  using value_type = T;
  loop_allocator() noexcept = default;
  template <class U>
  loop_allocator(const loop_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) {
    static_assert(alignof(T) <= coro::frame_pool::alignment_bytes);
    return static_cast<T*>(coro::frame_pool::allocate(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { coro::frame_pool::deallocate(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const loop_allocator<U>&) const noexcept {
    return true;
  }
};

namespace senders {

// The environment of the receiver: that of the awaiting task.
class task_environment {
 public:
  task_environment(loop& where, const coro::environment& of, provider::inplace_stop_token stop) noexcept
      : where_(&where), of_(&of), stop_(stop) {}
  [[nodiscard]] loop_scheduler query(provider::get_scheduler_t) const noexcept {
    return loop_scheduler(*where_);
  }
  // The task continues on its loop, so that this is where what it awaits was started.
  template <class Query>
    requires(asks_for_start_scheduler<Query>())
  [[nodiscard]] start_scheduler query(Query) const noexcept {
    return start_scheduler(*where_);
  }
  [[nodiscard]] provider::inplace_stop_token query(provider::get_stop_token_t) const noexcept {
    return stop_;
  }
  [[nodiscard]] loop_allocator<std::byte> query(provider::get_allocator_t) const noexcept { return {}; }
  [[nodiscard]] time_point query(get_deadline_t) const noexcept { return of_->deadline; }
  [[nodiscard]] const void* query(get_call_t) const noexcept { return of_->call; }

 private:
  loop* where_;
  const coro::environment* of_;
  provider::inplace_stop_token stop_;
};

// The result of co_await of a sender: nothing, the one object that it passes to set_value(), or a tuple of them.
template <class... Tuples>
struct only_value {
  static_assert(sizeof...(Tuples) == 0,
                "a sender with several value completions cannot be awaited: use into_variant()");
  using type = void;
};
template <class... Ts>
struct only_value<std::tuple<Ts...>> {
  using type = std::tuple<Ts...>;
};
template <class T>
struct only_value<std::tuple<T>> {
  using type = T;
};
template <>
struct only_value<std::tuple<>> {
  using type = void;
};
template <class... Ts>
using decayed_tuple = std::tuple<std::decay_t<Ts>...>;
template <class... Tuples>
using only_value_t = typename only_value<Tuples...>::type;
template <class Sender>
using awaited_value_t = provider::value_types_of_t<Sender, task_environment, decayed_tuple, only_value_t>;

inline std::exception_ptr as_exception(std::exception_ptr error) noexcept { return error; }
inline std::exception_ptr as_exception(status error) noexcept {
  return std::make_exception_ptr(status_error(std::move(error)));
}
inline std::exception_ptr as_exception(std::error_code error) noexcept {
  return std::make_exception_ptr(std::system_error(error));
}
template <class Error>
std::exception_ptr as_exception(Error error) noexcept {
  return std::make_exception_ptr(std::move(error));
}

// The part of an awaiting task that does not depend on the sender: its stop, its loop and how it continues there.
class awaiting : private coro::runnable, private coro::stop_callback {
 public:
  awaiting(const awaiting&) = delete;
  awaiting& operator=(const awaiting&) = delete;

  [[nodiscard]] task_environment environment() const noexcept { return {*where_, *of_, token_}; }

 protected:
  awaiting() noexcept : runnable{&awaiting::resume}, stop_callback(&awaiting::stopped) {}
  ~awaiting() = default;
  void open(std::coroutine_handle<> waiter, const coro::environment& of) {
    where_ = loop::current();
    CORACLE_REQUIRE(where_, "co_await of a sender requires a loop: await it in a task of a runtime");
    of_ = &of;
    waiter_ = waiter;
    if (!of.stop.stop_possible()) return;
    token_ = source_.emplace().get_token();
    if (!of.stop.subscribe(*this)) source_->request_stop();
  }
  // From any thread. The task continues from the queue of its loop: the sender may still be on the stack.
  void complete() noexcept { where_->post(*this); }

 private:
  static void resume(coro::runnable& w) noexcept {
    auto& self = static_cast<awaiting&>(w);
    self.stop_callback::unlink();
    self.waiter_.resume();
  }
  static void stopped(coro::stop_callback& c) noexcept { static_cast<awaiting&>(c).source_->request_stop(); }
  loop* where_ = nullptr;
  const coro::environment* of_ = nullptr;
  std::coroutine_handle<> waiter_;
  std::optional<provider::inplace_stop_source> source_;
  provider::inplace_stop_token token_;
};

// Lives in the co_await expression. Sender is the type of the operand: an lvalue is copied when it is connected, if
// the sender can be copied.
template <class Sender>
class sender_awaiter : awaiting {
 public:
  using value_type = awaited_value_t<Sender>;
  explicit sender_awaiter(Sender&& s) noexcept : sender_(static_cast<Sender&&>(s)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) {
    open(h, coro::environment_of(h));
    running_.emplace(*this);
    provider::start(running_->state);
  }
  value_type await_resume() {
    if (error_) std::rethrow_exception(std::move(error_));
    if (!value_) throw coro::cancelled();
    if constexpr (!std::is_void_v<value_type>) return std::move(*value_);
  }

 private:
  struct receiver {
    using receiver_concept = provider::receiver_t;
    sender_awaiter* to;

    template <class... Ts>
    void set_value(Ts&&... values) noexcept {
      try {
        to->value_.emplace(static_cast<Ts&&>(values)...);
      } catch (...) {
        to->error_ = std::current_exception();
      }
      to->complete();
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      to->error_ = as_exception(static_cast<Error&&>(error));
      to->complete();
    }
    void set_stopped() noexcept { to->complete(); }
    [[nodiscard]] task_environment get_env() const noexcept { return to->environment(); }
  };
  struct nothing {};
  struct running {
    explicit running(sender_awaiter& to)
        : state(provider::connect(static_cast<Sender&&>(to.sender_), receiver{&to})) {}
    provider::connect_result_t<Sender, receiver> state;
  };

  Sender&& sender_;
  std::optional<running> running_;
  std::optional<std::conditional_t<std::is_void_v<value_type>, nothing, value_type>> value_;
  std::exception_ptr error_;
};

}  // namespace senders

namespace coro {

// `co_await sender` in the coroutines of this library.
template <class T>
  requires senders::provider::sender<T>
struct await_adapter<T> {
  template <class Sender>
  static senders::sender_awaiter<Sender> await(Sender&& s) noexcept {
    return senders::sender_awaiter<Sender>(static_cast<Sender&&>(s));
  }
};

}  // namespace coro
}  // namespace coracle
