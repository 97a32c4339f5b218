// barrier: a reusable barrier for a fixed number of tasks.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle {

/// Blocks a number of tasks until all of them have arrived, and can be reused. It has an owner loop
/// (coro/impl/primitive.hpp): any task may await arrive_and_wait(), and drop() may be called on any thread. A
/// phase ends when the last of `parties` tasks arrives; the next phase begins then.
///
/// The last task to arrive continues without suspending, if it runs on the owner loop. The others resume
/// through their own loop's queue, in the order in which they arrived, after the current work item. If a
/// waiter's environment is stopped, its await throws coro::cancelled and its arrival is withdrawn, so the
/// phase waits for another arrival. A stop after the end of the phase does not undo it. A task that will not
/// arrive again calls drop().
class barrier : public coro::primitive<barrier> {
 public:
  /// `parties` is the number of tasks in a phase, at least 1; 0 throws usage_error.
  explicit barrier(std::size_t parties) : parties_(parties) { require_parties(); }
  /// The same, owned by `owner_loop`.
  barrier(std::size_t parties, coro::executor& owner_loop) : primitive(owner_loop), parties_(parties) {
    require_parties();
  }
  ~barrier() {
    close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "a barrier was destroyed while tasks wait at it: join them first");
  }

  /// @cond
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, barrier> {
   public:
    using waiting_call::waiting_call;
    /// Returns true for one task per phase, the last to arrive: for work to be done once per phase.
    bool await_resume() const {
      throw_if_stopped();
      return last_;
    }

   private:
    friend waiting_call;
    bool attempt() noexcept {
      CORACLE_ASSERT(at().parties_ != 0,
                     "arrived at a barrier with no participants left: call drop() once per task, at its end");
      last_ = at().arrived_ + 1 == at().parties_;
      if (last_) at().end_phase();
      return last_;
    }
    void enqueue(coro::waiter& w) noexcept {
      at().waiters_.push_back(w);
      ++at().arrived_;
    }
    void on_stopped(coro::waiter& w) noexcept {
      --at().arrived_;
      w.resume_soon();
    }
    bool last_ = false;
  };
  /// @endcond
  /// Arrives at the barrier and waits until the phase ends: `bool`, true for one task per phase, the last to
  /// arrive, for work to be done once per phase.
  awaiter arrive_and_wait() noexcept { return awaiter(*this); }

  /// Removes one party, from this phase on. The phase ends if all other parties have arrived. Does not wait.
  void drop() noexcept {
    if (on_owner_loop()) drop_here(1);
    else post_remote_calls();
  }
  /// Returns the number of tasks in a phase. For the owner loop.
  [[nodiscard]] std::size_t parties() const noexcept { return parties_; }
  /// Returns the number of tasks that wait in this phase. For the owner loop.
  [[nodiscard]] std::size_t arrived() const noexcept { return arrived_; }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void require_parties() const {
    CORACLE_REQUIRE(parties_ != 0,
                    "a barrier of 0 participants: pass the number of tasks that arrive, 1 or more");
  }
  void drop_here(std::size_t n) noexcept {
    CORACLE_ASSERT(parties_ - arrived_ >= n,
                   "drop() on a barrier with no participants left: call drop() once per task");
    parties_ -= n;
    if (parties_ == arrived_) end_phase();
  }
  void end_phase() noexcept {
    arrived_ = 0;
    coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t n) noexcept { drop_here(n); }
  coro::waiter_queue waiters_;
  std::size_t parties_;
  std::size_t arrived_ = 0;
};

}  // namespace coracle
