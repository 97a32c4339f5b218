// primitive: shared by mutex, queue, latch and the others: an owner loop, and calls from other threads.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/home.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

namespace coracle::coro {

// The queue of remote calls of a primitive, that is, of calls from off its owner loop. The first remote call
// makes this object; the primitive and the calls in flight share it. So a primitive may be destroyed while
// remote calls are in flight: they then find no owner. Any thread may use it.
class letter_box : work {
 public:
  // Handles remote calls on the owner loop: `calls` is the sum of all calls that arrive together.
  using reader = void (*)(void* owner, std::uint64_t calls) noexcept;
  // Returns the queue stored in `place`; makes it if there is none.
  static letter_box& at(std::atomic<letter_box*>& place, void* owner, reader r);
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

  // Adds n to the pending calls. All calls until the next read share one runnable.
  void call(home& to, std::uint64_t n) noexcept;
  [[nodiscard]] bool calls_under_way() const noexcept { return calls_.load(std::memory_order_acquire) != 0; }
  // Has `f` called on the owner loop. Allocates.
  template <class F>
  void send(home& to, F f) {
    hold();
    to.post(*new letter<F>(*this, std::move(f)));
  }
  // For the owner's destructor: waits while a call is being handled; no call is handled after that. Returns
  // whether calls (not those of send()) were in flight.
  bool close() noexcept;

 private:
  template <class F>
  struct letter : work {
    letter(letter_box& b, F call) : box(b), f(std::move(call)) {
      this->run = [](work& w) noexcept {
        auto& self = static_cast<letter&>(w);
        self.box.read([&self](void*) { self.f(); });
        delete &self;
      };
    }
    letter_box& box;
    F f;
  };
  letter_box(void* owner, reader r) noexcept;
  void hold() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept;
  template <class F>
  void read(F f) noexcept {
    {
      const std::lock_guard lock(reading_);
      if (owner_) f(owner_);
    }
    drop();
  }
  std::mutex reading_;  // guards owner_; held by the owner loop while it reads, and once by close()
  void* owner_;
  reader reader_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> references_{1};
};

// A primitive belongs to one executor, its owner loop: the one it was made on or was given, or, if it was
// made on a plain thread, the first one whose task uses it. Its state changes only there, so a call on the
// owner loop needs no atomic operation except one load.
//
// Waiting calls (lock(), receive(), ...) are for tasks of any loop. A call from another loop travels to the
// owner loop, waits there in the same queue as all others, and always resumes its task on the loop where the
// task awaited it. A stop request travels in the same way, so it may arrive too late: what was granted by
// then is kept, and the await succeeds. Plain threads wait with block_on() or sync_wait().
//
// Calls that do not wait (set(), count_down(), unlock(), close(), ...) may be made on any thread. Off the
// owner loop they are posted, and take effect when they arrive. The calls of one thread arrive in order. If
// several threads make the same call at one moment, these calls arrive together, and only the first of them
// allocates, unless the documentation of the call says otherwise. Calls that need an immediate result
// (try_lock(), ...) throw usage_error off the owner loop. Observers of the state (size(), is_set(), ...) are
// for the owner loop, or for times when no other thread uses the primitive.
//
// A primitive may be destroyed, on any thread, when no task waits and no thread is inside a call. A task that
// was just released by the call it waited for may destroy it, too, on whatever thread that call was made. It
// may also be destroyed after its owner loop is gone. Calls that are still in flight are dropped.
template <class Derived>
class primitive {
 public:
  primitive(const primitive&) = delete;
  primitive& operator=(const primitive&) = delete;
  // Returns the owner loop; null while there is none.
  [[nodiscard]] executor* home() const noexcept { return home_.where(); }

 protected:
  primitive() noexcept = default;
  explicit primitive(executor& home) noexcept : home_(home) {}
  ~primitive() = default;

  [[nodiscard]] bool at_home() noexcept { return home_.is_here(); }
  // Adopts the owner loop of `other` if this primitive has none yet. Returns false if the owner loops differ.
  template <class Other>
  bool live_with(const primitive<Other>& other) noexcept {
    executor* there = other.home();
    return there && home_.settle_at(*there);
  }
  // Has called_from_elsewhere(sum) called on the owner loop, with the sum of all calls that are pending
  // together. After that, this call does not access the primitive.
  void call_home(std::uint64_t n = 1) noexcept { box().call(home_, n); }
  [[nodiscard]] bool calls_under_way() const noexcept {
    const letter_box* b = box_.load(std::memory_order_acquire);
    return b && b->calls_under_way();
  }
  // Has `f` called on the owner loop; allocates. For calls that carry a value.
  template <class F>
  void run_at_home(F f) {
    box().send(home_, std::move(f));
  }
  // Must be called first in every destructor: no remote call arrives after it. Returns whether calls were in
  // flight.
  bool leave_home() noexcept {
    letter_box* b = box_.load(std::memory_order_acquire);
    if (!b) return false;
    const bool under_way = b->close();
    home_.run_left_over();
    return under_way;
  }

 private:
  template <class Call, class Primitive>
  friend class waiting_call;
  letter_box& box() noexcept {
    return letter_box::at(box_, static_cast<Derived*>(this), [](void* owner, std::uint64_t calls) noexcept {
      static_cast<Derived*>(owner)->called_from_elsewhere(calls);
    });
  }
  coro::home home_;
  std::atomic<letter_box*> box_{nullptr};
};

// A detached coroutine. It starts immediately and frees itself at its end. For internal use by the
// primitives. Another call must end what it waits for (such as close() of a queue), and it must not throw.
// Tasks of programs belong in a scope or in a runtime.
struct unwatched {
  struct promise_type {
    static void* operator new(std::size_t n) { return frame_pool::allocate_frame(n); }
    static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }
    unwatched get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace coracle::coro
