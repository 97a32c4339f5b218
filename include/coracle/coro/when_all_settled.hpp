// when_all_settled: like when_all, but returns the value or exception of every task.
#pragma once

#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/impl/concurrent.hpp"
#include "coracle/coro/impl/outcome.hpp"
#include "coracle/coro/task.hpp"

#include <tuple>
#include <utility>
#include <vector>

namespace coracle {

/// co_await when_all_settled(std::move(a), std::move(b)) returns std::tuple<outcome<A>, outcome<B>>.
///
/// The tasks start in argument order on the caller's stack, inherit the awaiter's environment and run
/// concurrently on its executor. The awaiter resumes when the last task has ended, on that task's stack. No
/// exception is rethrown and no error stops the other tasks: each outcome tells how its task ended, which is
/// coro::cancelled if a stop of the environment reached it. A stop is passed on to the tasks and does not
/// shorten the wait, so no value is lost.
template <class... Ts>
class [[nodiscard]] when_all_settled_awaiter : public coro::concurrent<Ts...> {
 public:
  using coro::concurrent<Ts...>::concurrent;
  std::tuple<outcome<Ts>...> await_resume() {
    return std::apply([](auto... h) { return std::tuple<outcome<Ts>...>(coro::outcome_of(h.promise())...); },
                      this->tasks_);
  }
};

template <coro::awaitable... Waits>
when_all_settled_awaiter<coro::awaited_t<Waits>...> when_all_settled(Waits... waits) {
  return when_all_settled_awaiter<coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}

/// The same over a range: returns a std::vector<outcome<T>> in the order of the tasks.
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

template <class T>
when_all_settled_range_awaiter<T> when_all_settled(std::vector<task<T>> tasks) {
  return when_all_settled_range_awaiter<T>(std::move(tasks));
}

}  // namespace coracle
