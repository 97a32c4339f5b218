// race: shared by the forms of when_any: determines the first task to end and stops the others.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>

namespace coracle::coro {

// Lives in the awaiter, and therefore in the parent's frame. For its executor's thread only.
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
    inside_ = environment{stop_->token(), outer.deadline, outer.call};
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
