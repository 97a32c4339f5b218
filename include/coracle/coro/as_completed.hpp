// as_completed: the outcomes of several tasks, in the order in which they end.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle {

/// The outcome of the task at position index() of the vector. value() returns its value or throws its
/// exception.
template <class T>
class completed {
 public:
  /// @cond
  completed(std::size_t index, outcome<T> ended) : index_(index), outcome_(std::move(ended)) {}
  /// @endcond
  /// Returns the position of the task in the vector.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// @{
  /// Returns the value of the task, or throws its exception.
  decltype(auto) value() & { return outcome_.value(); }
  decltype(auto) value() && { return std::move(outcome_).value(); }
  /// @}
  /// Returns how the task ended, without throwing; valid as long as this object.
  [[nodiscard]] coracle::outcome<T>& outcome() noexcept { return outcome_; }

 private:
  std::size_t index_;
  coracle::outcome<T> outcome_;
};

/// Runs several tasks concurrently and returns their outcomes in the order in which they end.
///
///     coracle::as_completed<row> rows{co_await coro::this_environment(), std::move(tasks)};
///     while (auto done = co_await rows.next()) use(done->index(), done->outcome());
///
/// Lives on one executor. The constructor starts the tasks, in order, on the caller's stack. They inherit the
/// given environment, but with a separate stop token, which also stops when that of the environment does.
/// The environment must outlive this object. next() returns each outcome once, in the order in which the
/// tasks ended, and an empty optional when it has returned all of them. The error of one task does not stop
/// the others.
///
/// The task that awaits next() resumes through the executor's queue, after the current work item. At most one
/// next() may wait at a time. If the awaiter's environment is stopped while next() waits, next() throws
/// coro::cancelled; no outcome is lost, and next() may be awaited again.
///
/// Destroying this object while tasks run is a defect of the caller and aborts, as with a scope. To leave
/// early, also because of an exception, call request_stop() and then co_await join(), which drops the
/// outcomes that next() has not returned.
template <class T>
class as_completed {
 public:
  /// Starts the tasks. Throws usage_error if one of them is empty or has ended.
  as_completed(const coro::environment& inherited, std::vector<task<T>> tasks)
      : stop_(inherited.stop),
        environment_{stop_.token(), inherited.deadline, inherited.call, inherited.span},
        parent_(coro::tree_node::scope_creator()),
        children_(std::make_unique<child[]>(tasks.size())),
        running_(tasks.size()),
        left_(tasks.size()) {
    for (const auto& one : tasks)
      CORACLE_REQUIRE(one.valid(),
                      "as_completed of a task that is empty or has ended: move each task in once");
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      children_[i].adopt(*this, i, tasks[i].release());
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) children_[i].start(environment_);
  }
  as_completed(const as_completed&) = delete;
  as_completed& operator=(const as_completed&) = delete;
  ~as_completed() {
    CORACLE_ASSERT(running_ == 0,
                   "an as_completed was destroyed with running tasks: co_await join() on every path");
  }

  /// Requests every task to stop. next() still returns their outcomes.
  void request_stop() noexcept { stop_.request_stop(); }
  /// Returns the number of tasks that have not ended.
  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  /// @cond
  class next_awaiter {
   public:
    explicit next_awaiter(as_completed& from) noexcept : from_(from), wait_(from.some_) {}
    next_awaiter(const next_awaiter&) = delete;
    next_awaiter& operator=(const next_awaiter&) = delete;
    ~next_awaiter() { end_wait(); }
    [[nodiscard]] bool await_ready() const noexcept { return from_.first_ || from_.left_ == 0; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) {
      CORACLE_REQUIRE(!from_.waiting_,
                      "concurrent next() calls on one as_completed: await one before the next");
      from_.some_.reset();
      from_.waiting_ = waits_ = true;
      return wait_.await_suspend(h);
    }
    std::optional<completed<T>> await_resume() {
      if (waits_) wait_.await_resume();
      end_wait();
      return from_.take();
    }

   private:
    void end_wait() noexcept {
      if (std::exchange(waits_, false)) from_.waiting_ = false;
    }
    as_completed& from_;
    event<>::awaiter wait_;
    bool waits_ = false;
  };
  /// @endcond
  /// Returns the next outcome, or an empty optional when all outcomes have been returned.
  [[nodiscard]] next_awaiter next() noexcept { return next_awaiter(*this); }

  /// @cond
  class join_awaiter {
   public:
    explicit join_awaiter(as_completed& all) noexcept : all_(all) {}
    [[nodiscard]] bool await_ready() const noexcept { return all_.running_ == 0; }
    void await_suspend(std::coroutine_handle<> h) {
      CORACLE_REQUIRE(
          !all_.joiner_ && !all_.waiting_,
          "join() of an as_completed while another task reads it: use one reader, which also joins");
      all_.joiner_ = h;
    }
    void await_resume() const noexcept {}

   private:
    as_completed& all_;
  };
  /// @endcond
  /// Waits until no task runs. A stop of the awaiter's environment does not end this wait directly: it stops
  /// the tasks. Throws nothing.
  [[nodiscard]] join_awaiter join() noexcept { return join_awaiter(*this); }

 private:
  class child final : public coro::completion {
   public:
    child() noexcept = default;
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
      if (frame) frame.destroy();
    }
    void adopt(as_completed& o, std::size_t i, typename task<T>::handle h) noexcept {
      owner = &o;
      index = i;
      frame = h;
    }
    void start(const coro::environment& e) noexcept {
      frame.promise().inherit(e);
      frame.promise().set_completion(*this);
      coro::promise_base::begin(frame, frame.promise(), owner->parent_);
    }
    std::coroutine_handle<> finished(coro::promise_base&, std::coroutine_handle<>) noexcept override {
      return owner->ended(*this);
    }

    as_completed* owner = nullptr;
    std::size_t index = 0;
    typename task<T>::handle frame;
    child* next = nullptr;  // the next ended task that was not taken
  };

  std::coroutine_handle<> ended(child& c) noexcept {
    (first_ ? last_->next : first_) = &c;
    last_ = &c;
    some_.set();
    if (--running_ == 0 && joiner_) return std::exchange(joiner_, {});
    return std::noop_coroutine();
  }
  std::optional<completed<T>> take() {
    if (!first_) return std::nullopt;
    child& c = *first_;
    std::optional<completed<T>> item(std::in_place, c.index, coro::outcome_of(c.frame.promise()));
    first_ = c.next;
    --left_;
    std::exchange(c.frame, {}).destroy();
    return item;
  }

  coro::stop_source stop_;
  coro::environment environment_;
  const coro::tree_node* parent_;
  std::unique_ptr<child[]> children_;
  child* first_ = nullptr;
  child* last_ = nullptr;
  std::size_t running_;
  std::size_t left_;  // not returned by next() yet
  event<> some_;  // set when a task ends; only a next() that finds no outcome waits for it
  std::coroutine_handle<> joiner_;
  bool waiting_ = false;
};

}  // namespace coracle
