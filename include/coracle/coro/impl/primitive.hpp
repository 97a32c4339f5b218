// primitive: what mutex, channel, latch and the others share: a home, and calls from elsewhere.
#pragma once

#include "coracle/coro/impl/home.hpp"
#include "coracle/coro/impl/letter_box.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace coracle::coro {

// A primitive lives on one executor, its home: the one it was made on, or was given, or, made on a
// plain thread, the first one whose task uses it. All its state is changed there; on the home loop
// nothing is atomic but one load a call.
//
// Waiting calls (lock(), receive(), ...) are for tasks, of any loop: one from elsewhere travels to
// the home, waits there in the same queue as all others, and resumes its task on the loop where the
// task awaited it, always. Stopping it travels likewise, so it may come too late: what was granted
// by then is kept, and the await ends well. Plain threads wait with block_on() or sync_wait().
// Calls that wait for nothing (set(), count_down(), unlock(), close(), ...) may be made on any
// thread: elsewhere than at home they are posted and take effect when they arrive. Those of one
// thread arrive in order; where several threads make the same call at one moment, these arrive
// together. Only the first of them allocates, unless the call says more. Calls that need an answer at
// once (try_lock(), ...) throw usage_error elsewhere. Looks at the state (size(), is_set(), ...) are for home, or
// for when nobody else uses the primitive.
//
// It may be destroyed, on any thread, when no task waits and no thread is inside a call: also by a task
// that was just released by the call that it waited for, on whatever thread that was made; and after
// its home is gone. Calls that are still on their way are dropped.
template <class Derived>
class primitive {
 public:
  primitive(const primitive&) = delete;
  primitive& operator=(const primitive&) = delete;
  // Null as long as it has none.
  [[nodiscard]] executor* home() const noexcept { return home_.where(); }

 protected:
  primitive() noexcept = default;
  explicit primitive(executor& home) noexcept : home_(home) {}
  ~primitive() = default;

  [[nodiscard]] bool at_home() noexcept { return home_.is_here(); }
  // Makes the other one's home its own, if it has none yet; false if they live apart.
  template <class Other>
  bool live_with(const primitive<Other>& other) noexcept {
    executor* there = other.home();
    return there && home_.settle_at(*there);
  }
  // Has called_from_elsewhere(sum) called at home: the sum of all calls that meet on the way. The caller touches
  // nothing of the primitive after that.
  void call_home(std::uint64_t n = 1) noexcept { box().call(home_, n); }
  [[nodiscard]] bool calls_under_way() const noexcept {
    const letter_box* b = box_.load(std::memory_order_acquire);
    return b && b->calls_under_way();
  }
  // Has `f` called at home; allocates. For calls that carry a value.
  template <class F>
  void run_at_home(F f) {
    box().send(home_, std::move(f));
  }
  // The first act of every destructor: nothing from elsewhere arrives any more. True if calls were on their way.
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
