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

  // Gives the current coroutine the environment of the operation.
  class enter {
   public:
    explicit enter(cancellable& by) noexcept : by_(by) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      by_.open(coro::environment_of(h));
      h.promise().inherit(by_.environment_);
      return false;
    }
    void await_resume() const noexcept {}

   private:
    cancellable& by_;
  };
  // Waits for a request to cancel that is on its way; none can begin after that.
  class settle {
   public:
    explicit settle(cancellable& by) noexcept : by_(by) {}
    [[nodiscard]] bool await_ready() const noexcept { return by_.close(); }
    void await_suspend(std::coroutine_handle<> h) noexcept { by_.settling_ = h; }
    void await_resume() const noexcept { by_.stop_.reset(); }

   private:
    cancellable& by_;
  };

  loop* where_ = nullptr;
  const coro::environment* inherited_ = nullptr;  // null: that of the loop's root tasks

 private:
  enum class phase : std::uint8_t { running, cancelling, ended };
  void open(const coro::environment& of_root) noexcept {
    const coro::environment& outer = inherited_ ? *inherited_ : of_root;
    stop_.emplace(outer.stop);
    environment_ = {stop_->token(), outer.deadline, outer.call};
    if (arrived_) stop_->request_stop();
  }
  bool close() noexcept { return phase_.exchange(phase::ended) != phase::cancelling || arrived_; }
  static void arrived(coro::runnable& w) noexcept {
    auto& self = static_cast<cancellable&>(w);
    self.arrived_ = true;
    if (self.settling_) return self.settling_.resume();
    if (self.stop_) self.stop_->request_stop();
  }

  std::atomic<phase> phase_{phase::running};
  bool arrived_ = false;  // the request to cancel
  std::coroutine_handle<> settling_;
  std::optional<coro::stop_source> stop_;
  coro::environment environment_;
};

}  // namespace runtime_internal

/// One wait that runs outside a coroutine, in memory of the caller: for adapters to other models of
/// concurrency. start() is the form that owns its memory.
///
/// Wait is an awaitable that can be moved before it is awaited: a task, an operation of a call, a timer. Done
/// is called once, with an outcome<T> of the wait's value, or the exception that it threw, as
/// `done(outcome<T>)`. It must not throw. It may destroy the operation.
template <coro::awaitable Wait, class Done>
class operation : public runtime_internal::cancellable {
 public:
  using value_type = coro::awaited_t<Wait>;
  operation(Wait wait, Done done) : wait_(std::move(wait)), done_(std::move(done)) {}

  /// Starts the wait on `where`, never inside this call, as a root task of its runtime: run() does not return
  /// before `done` was called, and the wait is stopped when the runtime is. `done` is called on that loop.
  /// May be called from any thread. Throws std::bad_alloc; the operation has then not started.
  ///
  /// The wait inherits the deadline, the stop token and the call of `inherited`, or of the root tasks of the
  /// loop if it is null. The environment must belong to the loop, and outlive the operation.
  void start(loop& where, const coro::environment* inherited = nullptr) {
    this->where_ = &where;
    this->inherited_ = inherited;
    where.owner().spawn_on(where, run());
  }
  // Inherited: cancel() requests the wait to stop. From any thread, between start() and the call of `done`,
  // which still follows. ended() tells whether a cancel() comes too late.

 private:
  task<> run() {
    typename cancellable::enter entered(*this);
    co_await entered;
    std::optional<outcome<value_type>> result;
    try {
      if constexpr (std::is_void_v<value_type>) {
        co_await std::move(wait_);
        result.emplace(true);
      } else {
        result.emplace(co_await std::move(wait_));
      }
    } catch (...) {
      result.emplace(outcome<value_type>::failure(std::current_exception()));
    }
    typename cancellable::settle settled(*this);
    co_await settled;
    Done done(std::move(done_));  // it may destroy this object
    done(std::move(*result));
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

  // For start(): what a handle shares with the wait that runs.
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

 private:
  state* state_ = nullptr;
};

namespace runtime_internal {

template <class Wait, class Done>
class started_wait final : public started::state, public coro::pooled {
 public:
  started_wait(Wait wait, Done done) : running_(std::move(wait), report{this, std::move(done)}) {}
  void start(loop& where, const coro::environment* inherited) { running_.start(where, inherited); }
  void cancel() noexcept override { running_.cancel(); }
  [[nodiscard]] bool ended() const noexcept override { return running_.ended(); }

 private:
  void destroy() noexcept override { delete this; }
  struct report {
    started_wait* of;
    Done done;
    template <class Outcome>
    void operator()(Outcome o) {
      Done call(std::move(done));
      started_wait* const ended = of;
      call(std::move(o));
      ended->release();
    }
  };
  operation<Wait, report> running_;
};

}  // namespace runtime_internal

/// Runs `wait` on the loop `where` and passes its outcome to `done(outcome<T>)`, on that loop and never
/// inside this call: see operation. Throws std::bad_alloc, and usage_error if a task is empty or has ended.
template <coro::awaitable Wait, class Done>
started start(loop& where, Wait wait, Done done, const coro::environment* inherited = nullptr) {
  using running = runtime_internal::started_wait<Wait, Done>;
  auto made = std::make_unique<running>(std::move(wait), std::move(done));
  made->start(where, inherited);
  return started(made.release());
}

}  // namespace coracle
