// noted_await: what stands between a promise that notes each co_await and the awaiter that does the work.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

namespace coracle::coro {

// Passes everything on. Refers to the awaiter, which lives in the co_await expression: GCC 12 would copy it if
// await_transform() returned it by reference.
template <class Awaiter>
class passed_on {
 public:
  explicit passed_on(Awaiter& a) noexcept : awaiter_(a) {}
  [[nodiscard]] bool await_ready() noexcept(noexcept(awaiter_.await_ready())) {
    return awaiter_.await_ready();
  }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> h) noexcept(noexcept(awaiter_.await_suspend(h))) {
    return awaiter_.await_suspend(h);
  }
  decltype(auto) await_resume() noexcept(noexcept(awaiter_.await_resume())) {
    return awaiter_.await_resume();
  }

 private:
  Awaiter& awaiter_;
};

template <class T>
concept awaited_by_member = requires(T&& t) { static_cast<T&&>(t).operator co_await(); };
template <class T>
concept awaited_by_function = requires(T&& t) { operator co_await(static_cast<T&&>(t)); };

// The awaiter of anything that can be awaited.
template <class T>
auto noted_await(T&& awaitable) noexcept {
  if constexpr (awaited_by_member<T>) return static_cast<T&&>(awaitable).operator co_await();
  else if constexpr (awaited_by_function<T>) return operator co_await(static_cast<T&&>(awaitable));
  else return passed_on<std::remove_reference_t<T>>(awaitable);
}

}  // namespace coracle::coro
