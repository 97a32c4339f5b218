// primitive: shared by mutex, queue, latch and the others: an owner loop, and calls from other threads.
#pragma once

#include "coracle/coro/impl/home.hpp"
#include "coracle/coro/impl/letter_box.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace coracle::coro {

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

}  // namespace coracle::coro
