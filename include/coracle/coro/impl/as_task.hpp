// as_task: wraps any awaitable in a task, for code that runs several waits concurrently.
#pragma once

#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/task.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace coracle::coro {

template <class T>
concept awaiter = requires(T& t) {
  t.await_ready();
  t.await_resume();
};
template <class T>
concept awaitable = awaited_by_member<T> || awaited_by_function<T> || awaiter<T> || awaited_by_adapter<T>;

// The type of the result of co_await.
template <awaitable A>
using awaited_t = std::remove_cvref_t<decltype(awaiter_of(std::declval<A>()).await_resume())>;

template <class T>
task<T> as_task(task<T> t) noexcept {
  return t;
}
// The wait begins when the task is started. An awaiter that cannot be moved, such as that of a primitive, has
// to be wrapped in a coroutine by the caller.
template <class A>
  requires awaitable<A> && std::move_constructible<A>
task<awaited_t<A>> as_task(A wait) {
  co_return co_await std::move(wait);
}

}  // namespace coracle::coro
