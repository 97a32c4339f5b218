// when_any: several tasks beside each other; the first that ends wins, the others are stopped.
#pragma once

#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/impl/outcome.hpp"
#include "coracle/coro/impl/race.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle {

// What co_await when_any(a(), b()) gives, of tasks or of other awaiters that can be moved: index() says which
// ended first, get<0>() is the value of the first argument. A loser that ended well in spite of the stop keeps its
// value, so that nothing that it had received is lost: ok<I>() says so, get<I>() has it. get() of a
// loser that failed throws its exception (coro::cancelled, as a rule).
template <class... Ts>
class first_of {
 public:
  first_of(std::size_t index, std::tuple<outcome<Ts>...> all) : index_(index), all_(std::move(all)) {}

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  template <std::size_t I>
  [[nodiscard]] bool ok() const noexcept {
    return std::get<I>(all_).ok();
  }
  template <std::size_t I>
  decltype(auto) get() & {
    return std::get<I>(all_).value();
  }
  template <std::size_t I>
  decltype(auto) get() && {
    return std::get<I>(std::move(all_)).value();
  }
  // How every task ended, in argument order.
  [[nodiscard]] std::tuple<outcome<Ts>...>& outcomes() noexcept { return all_; }

 private:
  std::size_t index_;
  std::tuple<outcome<Ts>...> all_;
};

// The same of a range: value() is the winner's.
template <class T>
class first_of_range {
 public:
  first_of_range(std::size_t index, std::vector<outcome<T>> all) : index_(index), all_(std::move(all)) {}

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  decltype(auto) value() & { return all_[index_].value(); }
  decltype(auto) value() && { return std::move(all_[index_]).value(); }
  [[nodiscard]] std::vector<outcome<T>>& outcomes() noexcept { return all_; }

 private:
  std::size_t index_;
  std::vector<outcome<T>> all_;
};

// The tasks start in argument order on the caller's stack and run on its executor, in the awaiter's
// environment with a stop of their own that is chained to the environment's. When one ends at once,
// those after it never start (their outcome is coro::cancelled). When the first has ended, by value or
// by exception, the others are asked to stop; the awaiter goes on when all have ended, on the last
// one's stack. No task outlives the await.
//
// The winner's exception is rethrown; other losers' exceptions are dropped unless first_of is asked
// for them. A stop of the awaiter's environment stops all: the first to end, with coro::cancelled as a
// rule, is the winner. A loser's value would go down with the winner's exception: where a message may
// have been received by then, use when_any_settled, which throws nothing and leaves the winner's
// exception to get().
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

template <coro::awaitable... Waits>
  requires(sizeof...(Waits) != 0)
when_any_awaiter<true, coro::awaited_t<Waits>...> when_any(Waits... waits) {
  return when_any_awaiter<true, coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}
template <coro::awaitable... Waits>
  requires(sizeof...(Waits) != 0)
when_any_awaiter<false, coro::awaited_t<Waits>...> when_any_settled(Waits... waits) {
  return when_any_awaiter<false, coro::awaited_t<Waits>...>(coro::as_task(std::move(waits))...);
}

// The same over a range, which must not be empty.
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

template <class T>
when_any_range_awaiter<true, T> when_any(std::vector<task<T>> tasks) {
  return when_any_range_awaiter<true, T>(std::move(tasks));
}
template <class T>
when_any_range_awaiter<false, T> when_any_settled(std::vector<task<T>> tasks) {
  return when_any_range_awaiter<false, T>(std::move(tasks));
}

}  // namespace coracle
