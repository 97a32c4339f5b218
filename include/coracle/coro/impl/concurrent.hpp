// concurrent: shared by the forms of when_all and when_any: starts tasks together and resumes their parent
// when all have ended. race: also determines the first task to end and stops the others.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::coro {

// Counts the tasks that run and resumes their parent when the last has ended. Lives in the awaiter, and
// therefore in the parent's frame.
class countdown final : public completion {
 public:
  // The count starts one higher than the number of tasks: await_suspend() of the parent holds the last count.
  explicit countdown(std::size_t tasks) noexcept : left_(tasks + 1) {}
  template <class Handle, class Promise>
  void start(Handle child, std::coroutine_handle<Promise> parent) noexcept {
    child.promise().inherit(environment_of(parent));
    child.promise().set_completion(*this);
    promise_base::begin(child, child.promise(), node_of(parent));
  }
  // Returns true when all tasks have ended already, so that the parent need not suspend.
  bool arrive(std::coroutine_handle<> parent) noexcept {
    parent_ = parent;
    return --left_ == 0;
  }

 private:
  std::coroutine_handle<> finished(promise_base&, std::coroutine_handle<>) noexcept override {
    if (--left_ == 0) return parent_;
    return std::noop_coroutine();
  }
  std::size_t left_;
  std::coroutine_handle<> parent_ = std::noop_coroutine();
};

template <class T>
void require_valid(const task<T>& t) {
  CORACLE_REQUIRE(
      t.valid(), "when_all or when_all_settled of a task that is empty or has ended: move each task in once");
}

// Owns the frames. Awaiters derive from it and define in await_resume() what to do with the outcomes.
template <class... Ts>
class concurrent {
 public:
  explicit concurrent(task<Ts>... tasks) : left_(sizeof...(Ts)) {
    (require_valid(tasks), ...);
    tasks_ = std::tuple<typename task<Ts>::handle...>(tasks.release()...);
  }
  concurrent(const concurrent&) = delete;
  concurrent& operator=(const concurrent&) = delete;
  ~concurrent() {
    std::apply([](auto... h) { (h.destroy(), ...); }, tasks_);
  }
  [[nodiscard]] bool await_ready() const noexcept { return sizeof...(Ts) == 0; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    std::apply([&](auto... h) { (left_.start(h, parent), ...); }, tasks_);
    return !left_.arrive(parent);
  }

 protected:
  std::tuple<typename task<Ts>::handle...> tasks_;

 private:
  countdown left_;
};

// The same for a range.
template <class T>
class concurrent_range {
 public:
  explicit concurrent_range(std::vector<task<T>> tasks) : left_(tasks.size()) {
    for (const task<T>& t : tasks) require_valid(t);
    tasks_.reserve(tasks.size());
    for (task<T>& t : tasks) tasks_.push_back(t.release());
  }
  concurrent_range(const concurrent_range&) = delete;
  concurrent_range& operator=(const concurrent_range&) = delete;
  ~concurrent_range() {
    for (auto h : tasks_) h.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return tasks_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    for (auto h : tasks_) left_.start(h, parent);
    return !left_.arrive(parent);
  }

 protected:
  std::vector<typename task<T>::handle> tasks_;

 private:
  countdown left_;
};

// For when_any: determines the first task to end and stops the others. Lives in the awaiter, and therefore in
// the parent's frame. For its executor's thread only.
class race final : public completion {
 public:
  // The count starts one higher than the number of tasks: await_suspend() of the parent holds the last count.
  explicit race(std::size_t tasks) : left_(tasks + 1) {
    CORACLE_REQUIRE(tasks != 0, "when_any of no tasks would never end");
  }

  template <class Task>
  static void require_valid(const Task& t) {
    CORACLE_REQUIRE(
        t.valid(),
        "when_any or when_any_settled of a task that is empty or has ended: move each task in once");
  }

  template <class Promise>
  void open(std::coroutine_handle<Promise> parent) noexcept {
    const environment& outer = environment_of(parent);
    stop_.emplace(outer.stop);
    inside_ = environment{stop_->token(), outer.deadline, outer.call, outer.span};
    node_ = node_of(parent);
  }
  // Starts the next task, unless an earlier one has won already: then the task never runs.
  void start(promise_base& promise, std::coroutine_handle<> frame) noexcept {
    if (winner_) {
      --left_;
      return;
    }
    promise.inherit(inside_);
    promise.set_completion(*this);
    promise_base::begin(frame, promise, node_);
  }
  // Returns true when all tasks have ended already, so that the parent need not suspend.
  bool arrive(std::coroutine_handle<> parent) noexcept {
    parent_ = parent;
    return --left_ == 0;
  }
  [[nodiscard]] bool won_by(std::coroutine_handle<> frame) const noexcept { return winner_ == frame; }

 private:
  std::coroutine_handle<> finished(promise_base&, std::coroutine_handle<> frame) noexcept override {
    if (!winner_) {
      winner_ = frame;
      // The count still includes this task, so a loser that ends in this call does not resume the parent.
      stop_->request_stop();
    }
    if (--left_ == 0) return parent_;
    return std::noop_coroutine();
  }

  std::size_t left_;
  std::optional<stop_source> stop_;
  environment inside_;
  const tree_node* node_ = nullptr;
  std::coroutine_handle<> winner_;
  std::coroutine_handle<> parent_ = std::noop_coroutine();
};

}  // namespace coracle::coro
