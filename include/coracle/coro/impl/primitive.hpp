// primitive: shared by mutex, queue, latch and the others: an owner loop, and calls from other threads.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/owner_loop.hpp"

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
class remote_queue : runnable {
 public:
  // Handles remote calls on the owner loop: `calls` is the sum of all calls that arrive together.
  using handler = void (*)(void* owner, std::uint64_t calls) noexcept;
  // Returns the queue stored in `place`; makes it if there is none.
  static remote_queue& at(std::atomic<remote_queue*>& place, void* owner, handler r);
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

  // Adds n to the pending calls. All calls until the next read share one runnable.
  void call(owner_loop& to, std::uint64_t n) noexcept;
  [[nodiscard]] bool has_pending_calls() const noexcept {
    return calls_.load(std::memory_order_acquire) != 0;
  }
  // Has `f` called on the owner loop. Allocates.
  template <class F>
  void send(owner_loop& to, F f) {
    hold();
    to.post(*new remote_call<F>(*this, std::move(f)));
  }
  // For the owner's destructor: waits while a call is being handled; no call is handled after that. Returns
  // whether calls (not those of send()) were in flight.
  bool close() noexcept;

 private:
  template <class F>
  struct remote_call : runnable {
    remote_call(remote_queue& b, F call) : remote_calls(b), f(std::move(call)) {
      this->run = [](runnable& w) noexcept {
        auto& self = static_cast<remote_call&>(w);
        self.remote_calls.read([&self](void*) { self.f(); });
        delete &self;
      };
    }
    remote_queue& remote_calls;
    F f;
  };
  remote_queue(void* owner, handler r) noexcept;
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
  handler handler_;
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
  [[nodiscard]] executor* owner_loop() const noexcept { return owner_loop_.where(); }

 protected:
  primitive() noexcept = default;
  explicit primitive(executor& owner_loop) noexcept : owner_loop_(owner_loop) {}
  ~primitive() = default;

  [[nodiscard]] bool on_owner_loop() noexcept { return owner_loop_.is_current(); }
  // Adopts the owner loop of `other` if this primitive has none yet. Returns false if the owner loops differ.
  template <class Other>
  bool share_owner_loop(const primitive<Other>& other) noexcept {
    executor* there = other.owner_loop();
    return there && owner_loop_.bind_to(*there);
  }
  // Has on_remote_calls(sum) called on the owner loop, with the sum of all calls that are pending
  // together. After that, this call does not access the primitive.
  void post_remote_calls(std::uint64_t n = 1) noexcept { remote_calls().call(owner_loop_, n); }
  [[nodiscard]] bool has_pending_calls() const noexcept {
    const remote_queue* b = remote_queue_.load(std::memory_order_acquire);
    return b && b->has_pending_calls();
  }
  // Has `f` called on the owner loop; allocates. For calls that carry a value.
  template <class F>
  void run_on_owner_loop(F f) {
    remote_calls().send(owner_loop_, std::move(f));
  }
  // Must be called first in every destructor: no remote call arrives after it. Returns whether calls were in
  // flight.
  bool close_remote_calls() noexcept {
    remote_queue* b = remote_queue_.load(std::memory_order_acquire);
    if (!b) return false;
    const bool under_way = b->close();
    owner_loop_.run_unowned();
    return under_way;
  }

 private:
  template <class Call, class Primitive>
  friend class waiting_call;
  remote_queue& remote_calls() noexcept {
    return remote_queue::at(remote_queue_, static_cast<Derived*>(this),
                            [](void* owner, std::uint64_t calls) noexcept {
                              static_cast<Derived*>(owner)->on_remote_calls(calls);
                            });
  }
  coro::owner_loop owner_loop_;
  std::atomic<remote_queue*> remote_queue_{nullptr};
};

// A detached coroutine. It starts immediately and frees itself at its end. For internal use by the
// primitives. Another call must end what it waits for (such as close() of a queue), and it must not throw.
// Tasks of programs belong in a scope or in a runtime.
struct detached_task {
  struct promise_type {
    static void* operator new(std::size_t n) { return frame_pool::allocate_frame(n); }
    static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }
    detached_task get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace coracle::coro
