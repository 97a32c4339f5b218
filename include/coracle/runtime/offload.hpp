// offload: runs a blocking function on a thread pool, off the loops.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle {

class loop;
namespace runtime_internal {
class blocking_pool;
}

/// @cond
namespace coro {

// The entry of an offload() in the pool's queue. Lives in the awaiting coroutine's frame.
class blocking_job : public runnable, timer, stop_callback {
 public:
  blocking_job(const blocking_job&) = delete;
  blocking_job& operator=(const blocking_job&) = delete;

 protected:
  explicit blocking_job(void (*call)(blocking_job&) noexcept) noexcept;
  ~blocking_job() = default;
  // Returns false when the environment was stopped before or no thread can be started: the caller does not
  // suspend.
  bool start(std::coroutine_handle<> waiter, const environment& e) noexcept;
  void throw_if_never_called() const {
    if (stopped_) throw cancelled();
    if (without_thread_) throw_without_thread();
  }

 private:
  friend class coracle::runtime_internal::blocking_pool;
  [[noreturn]] static void throw_without_thread();
  struct queue_place : base::list_hook {
    explicit queue_place(blocking_job& j) noexcept : job(j) {}
    blocking_job& job;
  };
  void (*call_)(blocking_job&) noexcept;
  queue_place place_{*this};
  loop* loop_ = nullptr;
  std::coroutine_handle<> waiter_;
  bool stopped_ = false;
  bool without_thread_ = false;
};

}  // namespace coro
/// @endcond

/// co_await offload(fn, args...) calls fn(args...) on a thread of the runtime's blocking pool and resumes on
/// the loop that awaited it, with the value or the exception. Arguments are moved or copied into the awaiter,
/// as std::thread does. At most runtime_options::blocking_threads calls run at once. Further awaiters wait,
/// first come, first served, and use no memory beyond their own frames.
///
/// If the awaiter's environment is stopped, a call that has not begun is removed from the queue and the await
/// throws coro::cancelled; a call that has begun is awaited. In a simulation the call runs on the loop, at a
/// later virtual time. Throws status_error (RESOURCE_EXHAUSTED) when the pool has no thread and the system
/// refuses to start one; fn is not called then.
template <class Fn, class... Args>
class [[nodiscard]] offload : coro::blocking_job {
 public:
  /// The type that fn returns.
  using value_type = std::invoke_result_t<Fn, Args...>;
  static_assert(!std::is_reference_v<value_type>, "return a value or a pointer");

  /// Takes fn and its arguments; nothing is called before the await.
  template <class F, class... A>
  explicit offload(F&& fn, A&&... args)
      : coro::blocking_job([](coro::blocking_job& j) noexcept { static_cast<offload&>(j).call(); }),
        fn_(std::forward<F>(fn)),
        args_(std::forward<A>(args)...) {
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<Fn>,
                  "GCC 12 destroys such a temporary in a co_await expression twice: pass what it captures as "
                  "arguments, or name it first");
  }
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  value_type await_resume() {
    throw_if_never_called();
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<value_type>) return std::move(*value_);
  }
  /// @endcond

 private:
  struct nothing {};
  void call() noexcept {
    try {
      if constexpr (std::is_void_v<value_type>) std::apply(std::move(fn_), std::move(args_));
      else value_.emplace(std::apply(std::move(fn_), std::move(args_)));
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  Fn fn_;
  std::tuple<Args...> args_;
  std::optional<std::conditional_t<std::is_void_v<value_type>, nothing, value_type>> value_;
  std::exception_ptr error_;
};
/// @cond
template <class F, class... A>
offload(F&&, A&&...) -> offload<std::decay_t<F>, std::decay_t<A>...>;
/// @endcond

}  // namespace coracle
