// when_all_settled: as when_all, but every task's value and every task's exception is kept.
#pragma once

#include "coracle/coro/outcome.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/when_all.hpp"

#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle {

// co_await when_all_settled(std::move(a), std::move(b)) gives std::tuple<outcome<A>, outcome<B>>.
//
// The tasks start in argument order on the caller's stack, inherit the awaiter's environment and run
// beside each other on its executor; the awaiter goes on when the last has ended, on that one's
// stack. Nothing is rethrown and no error stops the others: an outcome says how its task ended, by
// coro::cancelled when a stop of the environment reached it. A stop is passed on to the tasks and
// does not cut the wait short, so no value is lost by it.
template <class... Ts>
class [[nodiscard]] when_all_settled_awaiter {
 public:
  explicit when_all_settled_awaiter(task<Ts>... tasks) noexcept
      : tasks_(tasks.release()...), left_(sizeof...(Ts)) {}
  when_all_settled_awaiter(const when_all_settled_awaiter&) = delete;
  when_all_settled_awaiter& operator=(const when_all_settled_awaiter&) = delete;
  ~when_all_settled_awaiter() {
    std::apply([](auto... h) { (h.destroy(), ...); }, tasks_);
  }
  [[nodiscard]] bool await_ready() const noexcept { return sizeof...(Ts) == 0; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const coro::environment& e = coro::environment_of(parent);
    std::apply([&](auto... h) { (start_one(h, e), ...); }, tasks_);
    return !left_.arrive(parent);
  }
  std::tuple<outcome<Ts>...> await_resume() {
    return std::apply([](auto... h) { return std::tuple<outcome<Ts>...>(coro::outcome_of(h.promise())...); },
                      tasks_);
  }

 private:
  template <class T>
  void start_one(std::coroutine_handle<coro::task_promise<T>> h, const coro::environment& e) noexcept {
    left_.template start<T>(h, e);
  }
  std::tuple<typename task<Ts>::handle...> tasks_;
  coro::countdown left_;
};

template <class... Ts>
when_all_settled_awaiter<Ts...> when_all_settled(task<Ts>... tasks) noexcept {
  return when_all_settled_awaiter<Ts...>(std::move(tasks)...);
}

// The same over a range, giving std::vector<outcome<T>> in the order of the tasks.
template <class T>
class [[nodiscard]] when_all_settled_range_awaiter {
 public:
  explicit when_all_settled_range_awaiter(std::vector<task<T>> tasks) : left_(tasks.size()) {
    handles_.reserve(tasks.size());
    for (task<T>& t : tasks) handles_.push_back(t.release());
  }
  when_all_settled_range_awaiter(const when_all_settled_range_awaiter&) = delete;
  when_all_settled_range_awaiter& operator=(const when_all_settled_range_awaiter&) = delete;
  ~when_all_settled_range_awaiter() {
    for (auto h : handles_) h.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return handles_.empty(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    const coro::environment& e = coro::environment_of(parent);
    for (auto h : handles_) left_.template start<T>(h, e);
    return !left_.arrive(parent);
  }
  std::vector<outcome<T>> await_resume() {
    std::vector<outcome<T>> all;
    all.reserve(handles_.size());
    for (auto h : handles_) all.push_back(coro::outcome_of(h.promise()));
    return all;
  }

 private:
  std::vector<typename task<T>::handle> handles_;
  coro::countdown left_;
};

template <class T>
when_all_settled_range_awaiter<T> when_all_settled(std::vector<task<T>> tasks) {
  return when_all_settled_range_awaiter<T>(std::move(tasks));
}

}  // namespace coracle
