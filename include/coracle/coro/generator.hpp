// generator<T>: a coroutine that produces a sequence of values for a plain loop, one at a time.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/owned_frame.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace coracle {

/// A coroutine that produces values for `for (auto& x : g)`. It runs up to each co_yield on the caller's
/// stack, needs no executor and cannot use co_await.
///
///     coracle::generator<int> count(int n) { for (int i = 0; i < n; ++i) co_yield i; }
///
/// The generator owns its frame, which comes from the frame pool of the thread, and belongs to one thread at
/// a time. It can be iterated once. An element is valid until the iterator is incremented. generator<T>
/// yields copies of lvalues; generator<T&> and generator<const T&> yield references to the objects
/// themselves. An exception in the body is thrown by begin() or by ++ and ends the sequence. If the generator
/// is destroyed early, the body is unwound from its co_yield. What the arguments of the coroutine refer to
/// must outlive the generator.
template <class T>
class [[nodiscard]] generator {
 public:
  /// The type of the values, without a reference.
  using value_type = std::remove_cvref_t<T>;
  /// What an iterator returns.
  using reference = std::conditional_t<std::is_reference_v<T>, T, T&>;

  /// @cond
  class promise_type;
  using handle = std::coroutine_handle<promise_type>;
  /// @endcond
  class iterator;

  /// Makes an empty generator, which yields nothing.
  generator() noexcept = default;

  /// Starts the body and returns an iterator to the first element. May be called once. An empty generator
  /// yields an empty sequence.
  [[nodiscard]] iterator begin() {
    const handle frame = frame_.get();
    if (frame) frame.promise().advance(frame);
    return iterator(frame);
  }
  /// Returns what an iterator that has reached the end equals.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  explicit generator(handle h) noexcept : frame_(h) {}
  coro::owned_frame<promise_type> frame_;
};

/// @cond
template <class T>
class generator<T>::promise_type {
  using pointer = std::add_pointer_t<reference>;
  // Keeps the copy of an lvalue in the frame while the loop uses it.
  class copy {
   public:
    explicit copy(const value_type& from) : value_(from) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(handle h) noexcept { h.promise().element_ = std::addressof(value_); }
    void await_resume() const noexcept {}

   private:
    value_type value_;
  };

 public:
  static void* operator new(std::size_t n) { return coro::frame_pool::allocate_frame(n); }
  static void operator delete(void* p, std::size_t n) noexcept { coro::frame_pool::deallocate(p, n); }

  generator get_return_object() noexcept { return generator(handle::from_promise(*this)); }
  std::suspend_always initial_suspend() const noexcept { return {}; }
  std::suspend_always final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  // A temporary lives until the loop requests the next element.
  std::suspend_always yield_value(std::remove_reference_t<T>&& element) noexcept
    requires(!std::is_lvalue_reference_v<T>)
  {
    element_ = std::addressof(element);
    return {};
  }
  copy yield_value(const value_type& element)
    requires(!std::is_reference_v<T> && std::copy_constructible<value_type>)
  {
    return copy(element);
  }
  std::suspend_always yield_value(reference element) noexcept
    requires std::is_lvalue_reference_v<T>
  {
    element_ = std::addressof(element);
    return {};
  }
  // A body that waits needs an executor and an awaiter: use async_generator.
  template <class A>
  void await_transform(A&&) = delete;

 private:
  friend class generator;
  void advance(handle self) {
    CORACLE_REQUIRE(!self.done(), "begin() of a generator that has ended: a generator is iterated once");
    self.resume();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  pointer element_ = nullptr;
  std::exception_ptr error_;
};
/// @endcond

/// An input iterator over the values of a generator. ++ runs the body to its next co_yield, and throws what
/// the body throws. It must not outlive the generator.
template <class T>
class generator<T>::iterator {
 public:
  /// @cond
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = generator::value_type;
  /// @endcond

  /// Makes an iterator that equals the end.
  iterator() noexcept = default;
  /// @cond
  explicit iterator(handle h) noexcept : frame_(h) {}
  /// @endcond
  /// Returns the present value; valid until the next ++.
  [[nodiscard]] reference operator*() const noexcept {
    return static_cast<reference>(*frame_.promise().element_);
  }
  /// @{
  /// Runs the body up to its next co_yield, or to its end.
  iterator& operator++() {
    frame_.promise().advance(frame_);
    return *this;
  }
  void operator++(int) { ++*this; }
  /// @}
  /// Returns whether the body has ended.
  friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept {
    return !i.frame_ || i.frame_.done();
  }

 private:
  handle frame_;
};

}  // namespace coracle
