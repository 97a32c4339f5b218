// primitive: what mutex, channel, latch and the others share: a home, and calls from elsewhere.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/home.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
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
// thread: elsewhere than at home they are posted, without allocation unless the call says so, and
// take effect when they arrive; those of one thread arrive in order. Calls that need an answer
// at once (try_lock(), ...) abort elsewhere. Looks at the state (size(), is_set(), ...) are for home,
// or for when nobody else uses the primitive.
//
// It may be destroyed when nobody waits and no call is under way: also when a task was just released
// by the call that it waited for, on whatever thread that was made; and after its home is gone.
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
  ~primitive() {
    drop_letters();
    CORACLE_ASSERT(!calls_under_way() || !home(),
                   "a primitive was destroyed while a call from another thread is on its way to it: "
                   "join that thread or task first, and let the home loop turn");
  }

  [[nodiscard]] bool at_home() noexcept { return home_.is_here(); }
  // Makes the other one's home its own, if it has none yet; false if they live apart.
  template <class Other>
  bool live_with(const primitive<Other>& other) noexcept {
    executor* there = other.home();
    return there && home_.settle_at(*there);
  }
  // Has called_from_elsewhere(sum) called at home. Calls that meet on the way are summed up, in one
  // work. The caller touches nothing of the primitive after that.
  void call_home(std::uint64_t n = 1) noexcept {
    if (under_way_.fetch_add(n, std::memory_order_acq_rel) == 0) home_.post(calls_);
  }
  [[nodiscard]] bool calls_under_way() const noexcept {
    return under_way_.load(std::memory_order_acquire) != 0;
  }
  // Has `f` called at home; allocates. For calls that carry a value.
  template <class F>
  void run_at_home(F f) {
    home_.post(*new letter_of<F>(std::move(f)));
  }

 private:
  template <class Call, class Primitive>
  friend class waiting_call;
  // All calls from elsewhere that carry no value.
  struct calls : work {
    explicit calls(primitive& p) noexcept : to(p) {
      run = [](work& w) noexcept {
        primitive& self = static_cast<calls&>(w).to;
        const std::uint64_t sum = self.under_way_.exchange(0, std::memory_order_acq_rel);
        static_cast<Derived&>(self).called_from_elsewhere(sum);
      };
    }
    primitive& to;
  };
  // One call with a value.
  struct letter : work {
    virtual ~letter() = default;
  };
  template <class F>
  struct letter_of final : letter {
    explicit letter_of(F f) : call(std::move(f)) {
      this->run = [](work& w) noexcept {
        const std::unique_ptr<letter_of> self(static_cast<letter_of*>(&w));
        self->call();
      };
    }
    F call;
  };
  void drop_letters() noexcept {
    work* next = nullptr;
    for (work* w = home_.left_over(); w; w = next) {
      next = w->next;
      if (w != &calls_) delete static_cast<letter*>(w);
    }
  }
  coro::home home_;
  calls calls_{*this};
  std::atomic<std::uint64_t> under_way_{0};
};

}  // namespace coracle::coro
