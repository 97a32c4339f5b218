// start: runs one wait outside a coroutine and passes its outcome to a function; the base of callbacks and of
// adapters.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace runtime_internal {

// The coroutine of an operation: a root task whose frame is all that it takes. Its frame is destroyed at its
// end.
class root_coroutine {
 public:
  class promise_type final : public coro::promise_base, private coro::runnable, private coro::completion {
   public:
    promise_type() noexcept = default;
    root_coroutine get_return_object() noexcept { return root_coroutine(*this); }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    void begin(loop& on) noexcept;  // on that loop
    void post(loop& to) noexcept;  // from any thread

   private:
    friend class root_coroutine;
    [[nodiscard]] std::coroutine_handle<> frame() noexcept {
      return std::coroutine_handle<promise_type>::from_promise(*this);
    }
    std::coroutine_handle<> finished(coro::promise_base&, std::coroutine_handle<> frame) noexcept override;
    loop* where_ = nullptr;
    std::exception_ptr error_;
  };
  // Resumes the coroutine from the queue of its loop.
  class later {
   public:
    explicit later(promise_type& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) noexcept;
    void await_resume() const noexcept {}

   private:
    promise_type& of_;
  };

  explicit root_coroutine(promise_type& p) noexcept : promise_(p) {}
  [[nodiscard]] promise_type& promise() const noexcept { return promise_; }

 private:
  promise_type& promise_;
};

// The part of an operation that does not depend on its types: its cancellation. A request to cancel travels
// to the loop as a runnable; the operation does not end before that runnable has arrived.
class cancellable : private coro::runnable {
 public:
  cancellable(const cancellable&) = delete;
  cancellable& operator=(const cancellable&) = delete;

  void cancel() noexcept {
    CORACLE_ASSERT(where_, "an operation was cancelled before it was started");
    auto expected = phase::running;
    if (phase_.compare_exchange_strong(expected, phase::cancelling)) where_->post(*this);
  }
  [[nodiscard]] bool ended() const noexcept { return phase_.load(std::memory_order_acquire) == phase::ended; }

 protected:
  cancellable() noexcept : runnable{&cancellable::arrived} {}
  ~cancellable() = default;

  // Waits for a request to cancel that is on its way; none can begin after that.
  class settle {
   public:
    explicit settle(cancellable& by) noexcept : by_(by) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) noexcept { by_.settling_ = h; }
    void await_resume() const noexcept {}

   private:
    cancellable& by_;
  };
  // Starts the coroutine of the operation on its loop: at once if that is the current one.
  void begin(root_coroutine coroutine) noexcept {
    frame_ = &coroutine.promise();
    if (!where_->is_current()) return frame_->post(*where_);
    starting_ = true;
    frame_->begin(*where_);
    starting_ = false;
  }
  // At the beginning of the coroutine: gives it the environment of the operation.
  void open() noexcept {
    const coro::environment& outer = inherited_ ? *inherited_ : frame_->inherited();
    stop_.emplace(outer.stop);
    environment_ = {stop_->token(), outer.deadline, outer.call, outer.span};
    frame_->inherit(environment_);
    if (arrived_) stop_->request_stop();
  }
  // Whether the coroutine is still inside start(), which it must leave before it ends.
  [[nodiscard]] bool starting() const noexcept { return starting_; }
  [[nodiscard]] root_coroutine::later leave_start() const noexcept { return root_coroutine::later(*frame_); }
  // At the end of the coroutine. False: a request to cancel is on its way.
  [[nodiscard]] bool close() noexcept {
    return phase_.exchange(phase::ended) != phase::cancelling || arrived_;
  }
  void forget_stop() noexcept { stop_.reset(); }

  loop* where_ = nullptr;
  const coro::environment* inherited_ = nullptr;  // null: that of the loop's root tasks

 private:
  enum class phase : std::uint8_t { running, cancelling, ended };
  static void arrived(coro::runnable& w) noexcept {
    auto& self = static_cast<cancellable&>(w);
    self.arrived_ = true;
    if (self.settling_) return self.settling_.resume();
    if (self.stop_) self.stop_->request_stop();
  }

  std::atomic<phase> phase_{phase::running};
  bool starting_ = false;
  bool arrived_ = false;  // the request to cancel
  root_coroutine::promise_type* frame_ = nullptr;
  std::coroutine_handle<> settling_;
  std::optional<coro::stop_source> stop_;
  coro::environment environment_;
};

// Whether an operation leaves it to Done to take the value from the wait.
template <class Done, class Wait>
inline constexpr bool done_takes_value =
    coro::awaited_by_itself<Wait> && !std::invocable<Done&, outcome<coro::awaited_t<Wait>>, Wait&> &&
    std::invocable<Done&, const std::exception_ptr&, Wait&>;

}  // namespace runtime_internal

/// One wait that runs outside a coroutine, in memory of the caller: for adapters to other models of
/// concurrency. start() is the form that owns its memory.
///
/// Wait is an awaitable that can be moved before it is awaited: a task, an operation of a call, a timer. Done
/// is called once, with an outcome<T> of the wait's value, or the exception that it threw, as
/// `done(outcome<T>)` or `done(outcome<T>, wait)`, where `wait` is a reference to the Wait that has ended. If
/// Wait is an awaiter itself, as the operations of calls are, and Done can be called as
/// `done(const std::exception_ptr& error, wait)`, then it is called so, and takes the value from
/// `wait.await_resume()` unless there is an error: no copy of it is made. Done must not throw. It may destroy
/// the operation. If it has `bool begin()`, that is called on the loop first, when cancel() is allowed: false
/// ends the operation with coro::cancelled, and the wait never starts.
template <coro::awaitable Wait, class Done>
class operation : public runtime_internal::cancellable {
 public:
  /// What the wait gives.
  using value_type = coro::awaited_t<Wait>;
  /// Takes the wait and the function; start() begins.
  operation(Wait wait, Done done) : operation(std::in_place, std::move(wait), std::move(done)) {}
  /// The same, with one move of each.
  operation(std::in_place_t, Wait&& wait, Done&& done) : wait_(std::move(wait)), done_(std::move(done)) {}

  /// Starts the wait on `where` as a root task of its runtime: run() does not return before `done` was
  /// called, and the wait is stopped when the runtime is. On that loop, the wait begins inside this call.
  /// `done` is called on that loop, never inside this call. May be called from any thread. Throws
  /// std::bad_alloc; the operation has then not started.
  ///
  /// The wait inherits the deadline, the stop token and the call of `inherited`, or of the root tasks of the
  /// loop if it is null. The environment must belong to the loop, and outlive the operation.
  void start(loop& where, const coro::environment* inherited = nullptr) {
    this->where_ = &where;
    this->inherited_ = inherited;
    this->begin(run());
  }
  // Inherited: cancel() requests the wait to stop. From any thread, between start() and the call of `done`,
  // which still follows. ended() tells whether a cancel() comes too late.

 private:
  // Ends without its value, which Done takes from it.
  class ended_wait {
   public:
    explicit ended_wait(Wait& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() { return of_.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> h) {
      return of_.await_suspend(h);
    }
    void await_resume() const noexcept {}

   private:
    Wait& of_;
  };
  static constexpr bool done_takes_value = runtime_internal::done_takes_value<Done, Wait>;
  using found = std::conditional_t<done_takes_value, std::exception_ptr, std::optional<outcome<value_type>>>;

  [[nodiscard]] bool may_begin() noexcept {
    if constexpr (requires { done_.begin(); }) return done_.begin();
    else return true;
  }
  static void fail(found& into, std::exception_ptr error) {
    if constexpr (done_takes_value) into = std::move(error);
    else into.emplace(outcome<value_type>::failure(std::move(error)));
  }
  runtime_internal::root_coroutine run() {
    const bool begins = may_begin();
    this->open();
    found result{};
    try {
      if (!begins) {
        fail(result, std::make_exception_ptr(coro::cancelled()));
      } else if constexpr (done_takes_value) {
        ended_wait ended(wait_);
        co_await ended;
      } else if constexpr (std::is_void_v<value_type>) {
        co_await std::move(wait_);
        result.emplace(true);
      } else {
        result.emplace(co_await std::move(wait_));
      }
    } catch (...) {
      fail(result, std::current_exception());
    }
    if (this->starting()) {
      auto later = this->leave_start();
      co_await later;
    }
    if (!this->close()) {
      typename cancellable::settle settled(*this);
      co_await settled;
    }
    this->forget_stop();
    Done done(std::move(done_));  // it may destroy this object
    if constexpr (done_takes_value) done(std::as_const(result), wait_);
    else if constexpr (std::invocable<Done&, outcome<value_type>, Wait&>) done(std::move(*result), wait_);
    else done(std::move(*result));
  }

  Wait wait_;
  Done done_;
};

/// A handle of a wait that start() runs. The destructor cancels the wait, unless it has ended or the handle
/// was detached. May be used and destroyed on any thread, by one thread at a time.
class [[nodiscard]] started {
 public:
  /// Makes a handle of nothing.
  started() noexcept = default;
  started(started&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  started& operator=(started&& other) noexcept {
    started taken(std::move(other));
    std::swap(state_, taken.state_);
    return *this;
  }
  ~started() {
    cancel();
    detach();
  }
  /// Requests the wait to stop; its function is still called, later and on its loop, usually with CANCELLED.
  /// Does nothing after that.
  void cancel() noexcept {
    if (state_ && !state_->ended()) state_->cancel();
  }
  /// Lets the wait continue without this handle.
  void detach() noexcept {
    if (state* const s = std::exchange(state_, nullptr)) s->release();
  }
  /// Returns whether the wait has ended: its function is running or was called. True for a handle of nothing.
  [[nodiscard]] bool ended() const noexcept { return !state_ || state_->ended(); }

  /// @cond  For start(): what a handle shares with the wait that runs.
  class state {
   public:
    virtual void cancel() noexcept = 0;
    [[nodiscard]] virtual bool ended() const noexcept = 0;
    void release() noexcept {
      if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
    }

   protected:
    ~state() = default;

   private:
    virtual void destroy() noexcept = 0;
    std::atomic<std::uint32_t> references_{2};
  };
  explicit started(state* s) noexcept : state_(s) {}
  /// @endcond

 private:
  state* state_ = nullptr;
};

namespace runtime_internal {

template <class Wait, class Done>
class started_wait final : public started::state, public coro::pooled {
 public:
  started_wait(Wait&& wait, Done&& done)
      : running_(std::in_place, std::move(wait), report{this, std::move(done)}) {}
  void start(loop& where, const coro::environment* inherited) { running_.start(where, inherited); }
  void cancel() noexcept override { running_.cancel(); }
  [[nodiscard]] bool ended() const noexcept override { return running_.ended(); }

 private:
  void destroy() noexcept override { delete this; }
  struct report {
    started_wait* of;
    Done done;
    void operator()(outcome<coro::awaited_t<Wait>>&& o, Wait& wait)
      requires(!done_takes_value<Done, Wait>)
    {
      Done call(std::move(done));
      started_wait* const ended = of;
      if constexpr (std::invocable<Done&, decltype(std::move(o)), Wait&>) call(std::move(o), wait);
      else call(std::move(o));
      ended->release();
    }
    void operator()(const std::exception_ptr& error, Wait& wait)
      requires done_takes_value<Done, Wait>
    {
      Done call(std::move(done));
      started_wait* const ended = of;
      call(error, wait);
      ended->release();
    }
  };
  coracle::operation<Wait, report> running_;
};

// Moves each argument once.
template <class Wait, class Done>
started start_moved(loop& where, Wait&& wait, Done&& done, const coro::environment* inherited = nullptr) {
  auto made = std::make_unique<started_wait<Wait, Done>>(std::move(wait), std::move(done));
  made->start(where, inherited);
  return started(made.release());
}

}  // namespace runtime_internal

/// Runs `wait` on the loop `where` and passes its outcome to `done(outcome<T>)` or `done(outcome<T>, wait)`,
/// on that loop and never inside this call: see operation. Throws std::bad_alloc, and usage_error if a task
/// is empty or has ended.
template <coro::awaitable Wait, class Done>
started start(loop& where, Wait wait, Done done, const coro::environment* inherited = nullptr) {
  return runtime_internal::start_moved(where, std::move(wait), std::move(done), inherited);
}

}  // namespace coracle
