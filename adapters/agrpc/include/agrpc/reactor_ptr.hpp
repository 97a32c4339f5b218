// reactor_ptr: the pointers to reactors, which exist until grpc++ and the program have done with them.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/reactor.hpp"

#include <concepts>
#include <memory>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

/// A shared pointer to a reactor, which exists until OnDone() of grpc++, the end of its waits and the last pointer. What
/// happens when the last pointer goes before the end of the RPC, the reactor says.
template <class Reactor>
class ReactorPtr {
 public:
  ReactorPtr() = default;
  ReactorPtr(const ReactorPtr& other) noexcept : to_(other.to_) {
    if (to_) internal::reactor_access::add_user(*to_);
  }
  ReactorPtr(ReactorPtr&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  ReactorPtr& operator=(ReactorPtr other) noexcept {
    std::swap(to_, other.to_);
    return *this;
  }
  ~ReactorPtr() {
    if (to_) internal::reactor_access::remove_user(*to_);
  }

  [[nodiscard]] Reactor& operator*() const noexcept { return *to_; }
  [[nodiscard]] Reactor* operator->() const noexcept { return to_; }
  [[nodiscard]] explicit operator bool() const noexcept { return to_ != nullptr; }
  [[nodiscard]] friend bool operator==(const ReactorPtr& a, const ReactorPtr& b) noexcept {
    return a.to_ == b.to_;
  }
  friend void swap(ReactorPtr& a, ReactorPtr& b) noexcept { std::swap(a.to_, b.to_); }

 private:
  friend internal::reactor_access;
  explicit ReactorPtr(Reactor* to) noexcept : to_(to) {}
  Reactor* to_ = nullptr;
};

namespace internal {

template <class Reactor>
concept reactor_with_executor = requires { typename Reactor::executor_type; };

// The user's reactor, in memory of an allocator.
template <class Reactor, class Allocator>
class made_reactor final : public Reactor {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<made_reactor>;
  using traits = std::allocator_traits<allocator>;

 public:
  template <class... Args>
  [[nodiscard]] static made_reactor* make(const Allocator& from, Args&&... args) {
    allocator memory(from);
    made_reactor* const made = traits::allocate(memory, 1);
    try {
      ::new (static_cast<void*>(made)) made_reactor(memory, std::forward<Args>(args)...);
    } catch (...) {
      traits::deallocate(memory, made, 1);
      throw;
    }
    reactor_access::set_destroy(*made, &made_reactor::destroy);
    return made;
  }

 private:
  template <class... Args>
  explicit made_reactor(const allocator& memory, Args&&... args)
      : Reactor(std::forward<Args>(args)...), memory_(memory) {}
  ~made_reactor() override = default;
  static void destroy(reactor_life& of) noexcept {
    auto& self = static_cast<made_reactor&>(of);
    allocator memory(self.memory_);
    self.~made_reactor();
    traits::deallocate(memory, &self, 1);
  }
  [[no_unique_address]] allocator memory_;
};

template <class Reactor, class Allocator, class... Args>
ReactorPtr<Reactor> allocate_any_reactor(const Allocator& from, Args&&... args) {
  return reactor_access::own<ReactorPtr<Reactor>>(
      made_reactor<Reactor, Allocator>::make(from, std::forward<Args>(args)...));
}

}  // namespace internal

/// Makes a reactor in memory of `allocator`. `Reactor` is one of this library, or a class that derives from one, with its
/// arguments. Its waits complete on `executor` where their handlers have none.
template <class Reactor, class Allocator, class... Args>
  requires internal::reactor_with_executor<Reactor>
[[nodiscard]] ReactorPtr<Reactor> allocate_reactor(const Allocator& allocator,
                                                   typename Reactor::executor_type executor, Args&&... args) {
  auto made = internal::allocate_any_reactor<Reactor>(allocator, std::forward<Args>(args)...);
  internal::reactor_access::set_executor(*made, std::move(executor));
  return made;
}
/// The same of a reactor whose executor is void: it is waited for with agrpc::use_sender.
template <class Reactor, class Allocator, class... Args>
  requires(!internal::reactor_with_executor<Reactor>)
[[nodiscard]] ReactorPtr<Reactor> allocate_reactor(const Allocator& allocator, Args&&... args) {
  return internal::allocate_any_reactor<Reactor>(allocator, std::forward<Args>(args)...);
}
/// allocate_reactor() with std::allocator.
template <class Reactor, class... Args>
  requires internal::reactor_with_executor<Reactor>
[[nodiscard]] ReactorPtr<Reactor> make_reactor(typename Reactor::executor_type executor, Args&&... args) {
  return agrpc::allocate_reactor<Reactor>(std::allocator<void>(), std::move(executor),
                                          std::forward<Args>(args)...);
}
template <class Reactor, class... Args>
  requires(!internal::reactor_with_executor<Reactor>)
[[nodiscard]] ReactorPtr<Reactor> make_reactor(Args&&... args) {
  return agrpc::allocate_reactor<Reactor>(std::allocator<void>(), std::forward<Args>(args)...);
}

}  // namespace agrpc::inline CORACLE_ASIO
