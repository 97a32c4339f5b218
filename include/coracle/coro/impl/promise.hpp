// promise_base: the common base of the promises of all coroutine types of the library.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/task_tree.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

// GCC's sanitizers (and GCC below -O2) do not turn symmetric transfer into a tail call. With
// CORACLE_TRAMPOLINE, a parent starts its child with a plain resume() and does not suspend if the child ended
// immediately, so that a long chain of children does not exhaust the stack.
#ifndef CORACLE_TRAMPOLINE
#define CORACLE_TRAMPOLINE 0
#endif

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

// Makes the coroutines of this library await what has no operator co_await, such as the senders of other
// libraries. An adapter specialises it for T without a reference: `static Awaiter await(T&&)`.
template <class T>
struct await_adapter;

template <class T>
concept awaited_by_adapter =
    requires(T&& t) { await_adapter<std::remove_cvref_t<T>>::await(static_cast<T&&>(t)); };

// Returns the awaiter of an awaitable: a value where an operator co_await or an adapter makes one, else a
// reference to the awaitable.
template <class T>
decltype(auto) awaiter_of(T&& awaitable) noexcept {
  if constexpr (awaited_by_member<T>) return static_cast<T&&>(awaitable).operator co_await();
  else if constexpr (awaited_by_function<T>) return operator co_await(static_cast<T&&>(awaitable));
  else if constexpr (!awaited_by_itself<T> && awaited_by_adapter<T>)
    return await_adapter<std::remove_cvref_t<T>>::await(static_cast<T&&>(awaitable));
  else return static_cast<std::remove_reference_t<T>&>(awaitable);
}

// The wrapper between a promise that traces each co_await and the awaiter that does the work. Forwards all
// calls to the awaiter, and notifies the node when its coroutine resumes. An awaiter that is held by
// reference lives in the co_await expression: GCC 12 would copy it if await_transform() returned it by
// reference.
template <class Awaiter>
class traced_awaiter {
 public:
  template <class Make>
  traced_awaiter(tree_node& of, Make make) noexcept : node_(of), awaiter_(make()) {}
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
auto traced_await(tree_node& of, T&& awaitable) noexcept {
  static_assert(
      awaited_by_member<T> || awaited_by_function<T> || awaited_by_itself<T> || awaited_by_adapter<T>,
      "co_await of something that cannot be awaited: await a task, a stub's call, or a wait such "
      "as sleep_for()");
  using awaiter = decltype(awaiter_of(static_cast<T&&>(awaitable)));
  return traced_awaiter<awaiter>(of, [&]() -> awaiter { return awaiter_of(static_cast<T&&>(awaitable)); });
}

class promise_base;

// Is notified when a coroutine that no other coroutine awaits reaches its end. It owns the frame from then
// on, and may destroy it during the call. Returns the coroutine to resume next, or std::noop_coroutine().
class completion {
 public:
  virtual std::coroutine_handle<> finished(promise_base& promise, std::coroutine_handle<> frame) noexcept = 0;

 protected:
  ~completion() = default;
};

class promise_base : public tree_node {
 public:
  static void* operator new(std::size_t n) { return frame_pool::allocate_frame(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

#if !defined(__clang__) && __GNUC__ < 13
  class initial_awaiter {
   public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> frame) const noexcept {
      CORACLE_ASSERT(
          reinterpret_cast<std::uintptr_t>(frame.address()) % frame_pool::alignment_bytes == 0,
          "GCC 12 laid out this coroutine wrongly: it declares no variable and has a co_await in a "
          "condition; store the awaited result in a variable first (docs/guides/hazards.md)");
    }
    void await_resume() const noexcept {}
  };
#else
  using initial_awaiter = std::suspend_always;  // frames may be nested in others, aligned to their content
#endif
  initial_awaiter initial_suspend() const noexcept { return {}; }

  // Every co_await of these coroutines passes through here: it records the await site and forwards everything
  // else.
  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable,
                       std::source_location where = std::source_location::current()) noexcept {
    record_await_site(where);
    return traced_await(*this, static_cast<Awaitable&&>(awaitable));
  }

  class final_awaiter {
   public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
#if CORACLE_TRAMPOLINE
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      promise_base& self = h.promise();
      if (self.starting_) {
        self.starting_ = false;  // the parent is still in its await_suspend and will see it
        return;
      }
      self.next(h).resume();
    }
#else
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      return static_cast<promise_base&>(h.promise()).next(h);
    }
#endif
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  [[nodiscard]] const environment& inherited() const noexcept { return *environment_; }
  void inherit(const environment& e) noexcept { environment_ = &e; }
  // Sets the coroutine to resume at the end: the one that awaits this coroutine.
  template <class Parent>
  void set_continuation(std::coroutine_handle<Parent> h) noexcept {
    continuation_ = h;
    if constexpr (std::derived_from<Parent, tree_node>) h.promise().await(*this);
  }
  // Sets the completion to notify at the end, if no coroutine awaits this one.
  void set_completion(completion& c) noexcept { completion_ = &c; }
  // Starts a coroutine that has a completion, as a branch of `parent` if it is known.
  static void begin(std::coroutine_handle<> frame, promise_base& promise,
                    const tree_node* parent = nullptr) noexcept {
    if (executor* on = executor::current()) on->tasks().add(promise, parent);
    const std::source_location of_caller = std::exchange(base::last_await_site, {});
    frame.resume();
    if (of_caller.line() != 0) base::last_await_site = of_caller;
  }

  // Starts `child` on behalf of `parent`, from the parent's await_suspend. The parent's await_suspend must
  // return the result.
#if CORACLE_TRAMPOLINE
  using transfer = bool;
  static bool start(std::coroutine_handle<> child, promise_base& promise) noexcept {
    promise.starting_ = true;
    child.resume();
    if (!promise.starting_) return false;  // it ended already: resume without suspending
    promise.starting_ = false;
    return true;
  }
#else
  using transfer = std::coroutine_handle<>;
  static std::coroutine_handle<> start(std::coroutine_handle<> child, promise_base&) noexcept {
    return child;
  }
#endif

 private:
  std::coroutine_handle<> next(std::coroutine_handle<> self) noexcept {
    if (!completion_) return continuation_;
    unlink();
    return completion_->finished(*this, self);
  }
  const environment* environment_ = &no_environment;
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  completion* completion_ = nullptr;
  // Used with the trampoline only. Always present, so that no macro changes the layout.
  [[maybe_unused]] bool starting_ = false;
};

}  // namespace coracle::coro
