// when_all: several tasks beside each other, on one executor; goes on when all have ended.
#pragma once

#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

namespace coro {

// Counts tasks down and resumes their parent on the last; shared by both forms of when_all.
class countdown final : public completion {
 public:
  // One more than the tasks: the parent's own await_suspend holds the last count.
  explicit countdown(std::size_t tasks) noexcept : left_(tasks + 1) {}
  // True when everything has ended already and the parent need not suspend.
  bool arrive(std::coroutine_handle<> parent) noexcept {
    parent_ = parent;
    return --left_ == 0;
  }
  std::coroutine_handle<> finished(promise_base&, std::coroutine_handle<>) noexcept override {
    if (--left_ == 0) return parent_;
    return std::noop_coroutine();
  }
  template <class T>
  void start(typename task<T>::handle child, const environment& e) noexcept {
    child.promise().inherit(e);
    child.promise().set_completion(*this);
    child.resume();
  }

 private:
  std::size_t left_;
  std::coroutine_handle<> parent_ = std::noop_coroutine();
};

// A task's value in a tuple: void becomes std::monostate-like empty.
struct nothing {};
template <class T>
using value_or_nothing = std::conditional_t<std::is_void_v<T>, nothing, T>;

}  // namespace coro

// co_await when_all(std::move(a), std::move(b)) gives std::tuple of the values (coro::nothing for
// void). Every task is run to its end; if some threw, the first in argument order is rethrown then.
template <class... Ts>
class [[nodiscard]] when_all_awaiter {
 public:
  explicit when_all_awaiter(task<Ts>... tasks) noexcept : tasks_(tasks.release()...), left_(sizeof...(Ts)) {}
  when_all_awaiter(const when_all_awaiter&) = delete;
  when_all_awaiter& operator=(const when_all_awaiter&) = delete;
  ~when_all_awaiter() {
    std::apply([](auto... h) { (h.destroy(), ...); }, tasks_);
  }
  [[nodiscard]] bool await_ready() const noexcept { return sizeof...(Ts) == 0; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const coro::environment& e = coro::environment_of(parent);
    std::apply([&](auto... h) { (start_one(h, e), ...); }, tasks_);
    return !left_.arrive(parent);
  }
  std::tuple<coro::value_or_nothing<Ts>...> await_resume() {
    return std::apply([](auto... h) { return std::tuple<coro::value_or_nothing<Ts>...>{take(h)...}; },
                      tasks_);
  }

 private:
  template <class T>
  void start_one(std::coroutine_handle<coro::task_promise<T>> h, const coro::environment& e) noexcept {
    left_.template start<T>(h, e);
  }
  template <class T>
  static coro::value_or_nothing<T> take(std::coroutine_handle<coro::task_promise<T>> h) {
    if constexpr (std::is_void_v<T>) {
      h.promise().take();
      return {};
    } else {
      return h.promise().take();
    }
  }
  std::tuple<typename task<Ts>::handle...> tasks_;
  coro::countdown left_;
};

template <class... Ts>
when_all_awaiter<Ts...> when_all(task<Ts>... tasks) noexcept {
  return when_all_awaiter<Ts...>(std::move(tasks)...);
}

// The same over a range, giving std::vector of the values in order (nothing for void).
template <class T>
class [[nodiscard]] when_all_range_awaiter {
 public:
  explicit when_all_range_awaiter(std::vector<task<T>> tasks) noexcept
      : tasks_(std::move(tasks)), left_(tasks_.size()) {
    handles_.reserve(tasks_.size());
    for (task<T>& t : tasks_) handles_.push_back(t.release());
  }
  when_all_range_awaiter(const when_all_range_awaiter&) = delete;
  when_all_range_awaiter& operator=(const when_all_range_awaiter&) = delete;
  ~when_all_range_awaiter() {
    for (auto h : handles_) h.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return handles_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const coro::environment& e = coro::environment_of(parent);
    for (auto h : handles_) left_.template start<T>(h, e);
    return !left_.arrive(parent);
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (auto h : handles_) h.promise().take();
    } else {
      std::vector<T> values;
      values.reserve(handles_.size());
      for (auto h : handles_) values.push_back(h.promise().take());
      return values;
    }
  }

 private:
  std::vector<task<T>> tasks_;
  std::vector<typename task<T>::handle> handles_;
  coro::countdown left_;
};

template <class T>
when_all_range_awaiter<T> when_all(std::vector<task<T>> tasks) noexcept {
  return when_all_range_awaiter<T>(std::move(tasks));
}

}  // namespace coracle
