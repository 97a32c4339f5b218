// noted_await: the wrapper between a promise that traces each co_await and the awaiter that does the work.
#pragma once

#include "coracle/coro/impl/task_tree.hpp"

#include <coroutine>
#include <type_traits>
#include <utility>

namespace coracle::coro {

template <class T>
concept awaited_by_member = requires(T&& t) { static_cast<T&&>(t).operator co_await(); };
template <class T>
concept awaited_by_function = requires(T&& t) { operator co_await(static_cast<T&&>(t)); };

template <class T>
concept awaited_by_itself = requires(std::remove_reference_t<T>& t) {
  t.await_ready();
  t.await_resume();
};

// Returns the awaiter of an awaitable: a value where an operator co_await makes one, else a reference to the
// awaitable.
template <class T>
decltype(auto) awaiter_of(T&& awaitable) noexcept {
  if constexpr (awaited_by_member<T>) return static_cast<T&&>(awaitable).operator co_await();
  else if constexpr (awaited_by_function<T>) return operator co_await(static_cast<T&&>(awaitable));
  else return static_cast<std::remove_reference_t<T>&>(awaitable);
}

// Forwards all calls to the awaiter, and notifies the node when its coroutine resumes. An awaiter that is
// held by reference lives in the co_await expression: GCC 12 would copy it if await_transform() returned it
// by reference.
template <class Awaiter>
class noted_awaiter {
 public:
  template <class Make>
  noted_awaiter(tree_node& of, Make make) noexcept : node_(of), awaiter_(make()) {}
  [[nodiscard]] bool await_ready() noexcept(noexcept(std::declval<Awaiter&>().await_ready())) {
    return awaiter_.await_ready();
  }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> h) noexcept(
      noexcept(std::declval<Awaiter&>().await_suspend(h))) {
    return awaiter_.await_suspend(h);
  }
  decltype(auto) await_resume() noexcept(noexcept(std::declval<Awaiter&>().await_resume())) {
    node_.resumed();
    return awaiter_.await_resume();
  }

 private:
  tree_node& node_;
  Awaiter awaiter_;
};

template <class T>
auto noted_await(tree_node& of, T&& awaitable) noexcept {
  static_assert(awaited_by_member<T> || awaited_by_function<T> || awaited_by_itself<T>,
                "co_await of something that cannot be awaited: await a task, a stub's call, or a wait such "
                "as sleep_for()");
  using awaiter = decltype(awaiter_of(static_cast<T&&>(awaitable)));
  return noted_awaiter<awaiter>(of, [&]() -> awaiter { return awaiter_of(static_cast<T&&>(awaitable)); });
}

}  // namespace coracle::coro
