// when_all: runs several tasks concurrently on one executor and waits until all have ended.
#pragma once

#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/impl/concurrent.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/task.hpp"

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

namespace coro {

/// Stands for the value of a void task in a tuple.
struct nothing {};
/// @cond
template <class T>
using value_or_nothing = std::conditional_t<std::is_void_v<T>, nothing, T>;
/// @endcond

}  // namespace coro

/// @cond
template <class... Ts>
class [[nodiscard]] when_all_awaiter : public coro::concurrent<Ts...> {
 public:
  using coro::concurrent<Ts...>::concurrent;
  std::tuple<coro::value_or_nothing<Ts>...> await_resume() {
    return std::apply([](auto... h) { return std::tuple<coro::value_or_nothing<Ts>...>{take(h)...}; },
                      this->tasks_);
  }

 private:
  template <class T>
  static coro::value_or_nothing<T> take(std::coroutine_handle<coro::task_promise<T>> h) {
    if constexpr (std::is_void_v<T>) {
      h.promise().take();
      return {};
    } else {
      return h.promise().take();
    }
  }
};
/// @endcond

/// co_await when_all(a(), b()) runs tasks, or other movable awaiters, concurrently and returns a std::tuple
/// of their values (coro::nothing for void). Every task runs to its end. If some threw, the exception of the
/// first one in argument order is rethrown then; when_all_settled() returns all of them. For the rest, it is
/// as when_all_settled().
template <coro::awaitable... Waits>
when_all_awaiter<coro::awaited_t<Waits>...> when_all(Waits... waits) {
  return when_all_awaiter<coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}

/// @cond
template <class T>
class [[nodiscard]] when_all_range_awaiter : public coro::concurrent_range<T> {
 public:
  using coro::concurrent_range<T>::concurrent_range;
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (auto h : this->tasks_) h.promise().take();
    } else {
      std::vector<T> values;
      values.reserve(this->tasks_.size());
      for (auto h : this->tasks_) values.push_back(h.promise().take());
      return values;
    }
  }
};
/// @endcond

/// The same over a range: returns a std::vector of the values in order (nothing for void).
template <class T>
when_all_range_awaiter<T> when_all(std::vector<task<T>> tasks) {
  return when_all_range_awaiter<T>(std::move(tasks));
}

/// @cond
template <class... Ts>
class [[nodiscard]] when_all_settled_awaiter : public coro::concurrent<Ts...> {
 public:
  using coro::concurrent<Ts...>::concurrent;
  std::tuple<outcome<Ts>...> await_resume() {
    return std::apply([](auto... h) { return std::tuple<outcome<Ts>...>(coro::outcome_of(h.promise())...); },
                      this->tasks_);
  }
};
/// @endcond

/// `co_await when_all_settled(std::move(a), std::move(b))` returns `std::tuple<outcome<A>, outcome<B>>`.
///
/// The tasks start in argument order on the caller's stack, inherit the awaiter's environment and run
/// concurrently on its executor. The awaiter resumes when the last task has ended, on that task's stack. No
/// exception is rethrown and no error stops the other tasks: each outcome tells how its task ended, which is
/// coro::cancelled if a stop of the environment reached it. A stop is passed on to the tasks and does not
/// shorten the wait, so no value is lost.
template <coro::awaitable... Waits>
when_all_settled_awaiter<coro::awaited_t<Waits>...> when_all_settled(Waits... waits) {
  return when_all_settled_awaiter<coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}

/// @cond
template <class T>
class [[nodiscard]] when_all_settled_range_awaiter : public coro::concurrent_range<T> {
 public:
  using coro::concurrent_range<T>::concurrent_range;
  std::vector<outcome<T>> await_resume() {
    std::vector<outcome<T>> all;
    all.reserve(this->tasks_.size());
    for (auto h : this->tasks_) all.push_back(coro::outcome_of(h.promise()));
    return all;
  }
};
/// @endcond

/// The same over a range: returns a std::vector<outcome<T>> in the order of the tasks.
template <class T>
when_all_settled_range_awaiter<T> when_all_settled(std::vector<task<T>> tasks) {
  return when_all_settled_range_awaiter<T>(std::move(tasks));
}

}  // namespace coracle
