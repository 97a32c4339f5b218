// promise_base: the common base of the promises of all coroutine types of the library.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/noted_await.hpp"
#include "coracle/coro/impl/task_tree.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

// GCC's sanitizers (and GCC below -O2) do not turn symmetric transfer into a tail call. With
// CORACLE_TRAMPOLINE, a parent starts its child with a plain resume() and does not suspend if the child ended
// immediately, so that a long chain of children does not exhaust the stack.
#ifndef CORACLE_TRAMPOLINE
#define CORACLE_TRAMPOLINE 0
#endif

namespace coracle::coro {

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
    note(where);
    return noted_await(*this, static_cast<Awaitable&&>(awaitable));
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
    const std::source_location of_caller = std::exchange(base::last_noted, {});
    frame.resume();
    if (of_caller.line() != 0) base::last_noted = of_caller;
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
