// when_any: runs several tasks concurrently; the first to end wins, and the others are stopped.
#pragma once

#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/impl/concurrent.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle {

/// The result of co_await when_any(a(), b()), where a() and b() are tasks or other movable awaiters. index()
/// tells which one ended first; get<0>() is the value of the first argument. A loser that completed in spite
/// of the stop keeps its value, so nothing that it received is lost: ok<I>() tells whether there is a value,
/// and get<I>() returns it. get() of a loser that failed throws its exception, usually coro::cancelled.
template <class... Ts>
class first_of {
 public:
  /// @cond
  first_of(std::size_t index, std::tuple<outcome<Ts>...> all) : index_(index), all_(std::move(all)) {}
  /// @endcond

  /// Returns the position of the winner among the arguments.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// Returns whether task `Index` completed with a value.
  template <std::size_t Index>
  [[nodiscard]] bool ok() const noexcept {
    return std::get<Index>(all_).ok();
  }
  /// @{
  /// Returns the value of task `Index`, or throws its exception.
  template <std::size_t Index>
  decltype(auto) get() & {
    return std::get<Index>(all_).value();
  }
  template <std::size_t Index>
  decltype(auto) get() && {
    return std::get<Index>(std::move(all_)).value();
  }
  /// @}
  /// Returns the outcomes of all tasks, in argument order.
  [[nodiscard]] std::tuple<outcome<Ts>...>& outcomes() noexcept { return all_; }

 private:
  std::size_t index_;
  std::tuple<outcome<Ts>...> all_;
};

/// The result of co_await when_any() over a range; value() returns the value of the winner or throws its
/// exception.
template <class T>
class first_of_range {
 public:
  /// @cond
  first_of_range(std::size_t index, std::vector<outcome<T>> all) : index_(index), all_(std::move(all)) {}
  /// @endcond

  /// Returns the position of the winner in the range.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// @{
  /// Returns the value of the winner, or throws its exception.
  decltype(auto) value() & { return all_[index_].value(); }
  decltype(auto) value() && { return std::move(all_[index_]).value(); }
  /// @}
  /// Returns the outcomes of all tasks, in the order of the range.
  [[nodiscard]] std::vector<outcome<T>>& outcomes() noexcept { return all_; }

 private:
  std::size_t index_;
  std::vector<outcome<T>> all_;
};

/// @cond
template <bool Rethrow, class... Ts>
class [[nodiscard]] when_any_awaiter {
 public:
  explicit when_any_awaiter(task<Ts>... tasks) : race_(sizeof...(Ts)) {
    (coro::race::require_valid(tasks), ...);
    tasks_ = std::tuple<typename task<Ts>::handle...>(tasks.release()...);
  }
  when_any_awaiter(const when_any_awaiter&) = delete;
  when_any_awaiter& operator=(const when_any_awaiter&) = delete;
  ~when_any_awaiter() {
    std::apply([](auto... h) { (h.destroy(), ...); }, tasks_);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    race_.open(parent);
    std::apply([&](auto... h) { (race_.start(h.promise(), h), ...); }, tasks_);
    return !race_.arrive(parent);
  }
  first_of<Ts...> await_resume() {
    return std::apply([&](auto... h) { return gather(h...); }, tasks_);
  }

 private:
  first_of<Ts...> gather(typename task<Ts>::handle... all) {
    std::size_t index = 0;
    std::size_t place = 0;
    ((race_.won_by(all) ? void(index = place++) : void(place++)), ...);
    if constexpr (Rethrow) (rethrow(all), ...);
    return first_of<Ts...>(index, std::tuple<outcome<Ts>...>(coro::outcome_of_any(all)...));
  }
  template <class Handle>
  void rethrow(Handle h) const {
    if (race_.won_by(h) && h.promise().error()) std::rethrow_exception(h.promise().error());
  }
  std::tuple<typename task<Ts>::handle...> tasks_;
  coro::race race_;
};
/// @endcond

/// co_await when_any(...) starts the tasks in argument order on the caller's stack and runs them on its
/// executor, in the awaiter's environment but with a separate stop token, which also stops when that of
/// the environment does. If a task ends immediately, those after it never start (their outcome is
/// coro::cancelled). When the first task has ended, with a value or an exception, the others are requested to
/// stop; the awaiter resumes when all have ended, on the stack of the last one. No task outlives the await.
///
/// The winner's exception is rethrown. The losers' exceptions are dropped, unless the caller reads them from
/// first_of. A stop of the awaiter's environment stops all tasks: the first to end, usually with
/// coro::cancelled, is the winner. When the winner's exception is rethrown, the losers' values are lost;
/// where a loser may have received a message by then, use when_any_settled, which throws nothing and leaves
/// the winner's exception to get().
template <coro::awaitable... Waits>
  requires(sizeof...(Waits) != 0)
when_any_awaiter<true, coro::awaited_t<Waits>...> when_any(Waits... waits) {
  return when_any_awaiter<true, coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}
/// The same, but throws nothing: get() of the result throws the exception of the winner, too.
template <coro::awaitable... Waits>
  requires(sizeof...(Waits) != 0)
when_any_awaiter<false, coro::awaited_t<Waits>...> when_any_settled(Waits... waits) {
  return when_any_awaiter<false, coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}

/// @cond
template <bool Rethrow, class T>
class [[nodiscard]] when_any_range_awaiter {
 public:
  explicit when_any_range_awaiter(std::vector<task<T>> tasks) : race_(tasks.size()) {
    for (const task<T>& t : tasks) coro::race::require_valid(t);
    handles_.reserve(tasks.size());
    for (task<T>& t : tasks) handles_.push_back(t.release());
  }
  when_any_range_awaiter(const when_any_range_awaiter&) = delete;
  when_any_range_awaiter& operator=(const when_any_range_awaiter&) = delete;
  ~when_any_range_awaiter() {
    for (auto h : handles_) h.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    race_.open(parent);
    for (auto h : handles_) race_.start(h.promise(), h);
    return !race_.arrive(parent);
  }
  first_of_range<T> await_resume() {
    std::size_t index = 0;
    while (!race_.won_by(handles_[index])) ++index;
    if (Rethrow && handles_[index].promise().error()) {
      std::rethrow_exception(handles_[index].promise().error());
    }
    std::vector<outcome<T>> all;
    all.reserve(handles_.size());
    for (auto h : handles_) all.push_back(coro::outcome_of_any(h));
    return first_of_range<T>(index, std::move(all));
  }

 private:
  std::vector<typename task<T>::handle> handles_;
  coro::race race_;
};
/// @endcond

/// when_any() over a range, which must not be empty (usage_error).
template <class T>
when_any_range_awaiter<true, T> when_any(std::vector<task<T>> tasks) {
  return when_any_range_awaiter<true, T>(std::move(tasks));
}
/// when_any_settled() over a range, which must not be empty (usage_error).
template <class T>
when_any_range_awaiter<false, T> when_any_settled(std::vector<task<T>> tasks) {
  return when_any_range_awaiter<false, T>(std::move(tasks));
}

}  // namespace coracle
