// resident: an object that lives on a loop in the background, such as a channel's connections on that loop.
#pragma once

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coro/post_function.hpp"

#include <coroutine>
#include <memory>
#include <mutex>
#include <utility>

namespace coracle::runtime_internal {

class resident;

// The handle by which other threads reach a resident, which may already be gone.
class residence {
 public:
  // Makes the resident's loop call leave(), once. Any thread, any number of times; has no effect when the
  // resident is gone.
  void ask_to_leave() noexcept;
  // The same for retire().
  void ask_to_retire() noexcept;
  // Posts f to the resident's loop. Returns false, without calling f, when the resident is gone. The resident
  // may also end while f is queued: f must check the registry of residents on that loop.
  template <class F>
  bool run_there(F f) {
    const std::lock_guard lock(mutex_);
    if (!who_) return false;
    coro::post_function(home(), std::move(f));
    return true;
  }
  // Set when the resident is gone, for runtime_core::wait().
  coro::blocking_signal gone;

 private:
  friend class resident;
  [[nodiscard]] loop& home() const noexcept;
  std::mutex mutex_;
  resident* who_ = nullptr;
};

// Owned by the runtime from settle() on: the runtime's destructor waits for it, run() does not. leave() is
// called when the runtime stops, ask_to_leave() is called, or the resident calls leave_once() itself; the
// resident calls left() when it has finished.
class resident {
 public:
  resident(const resident&) = delete;
  resident& operator=(const resident&) = delete;
  virtual ~resident() = default;

  // Call it on the loop's thread, or before the loop is driven.
  static std::shared_ptr<residence> settle(loop& on, std::unique_ptr<resident> who);

 protected:
  resident() noexcept;
  // Starts the shutdown of the resident; called once, on its loop.
  virtual void leave() noexcept = 0;
  // The resident gets nothing more to do: it calls leave_once() when it has done the rest. Called at most
  // once, on its loop, and not after leave().
  virtual void retire() noexcept { leave_once(); }
  // Calls leave() unless it was called before. On the loop, and not inside leave().
  void leave_once() noexcept;
  // The resident's last call: destroys this later, from the loop's queue.
  void left() noexcept;

 private:
  friend class residence;
  class stay;
  struct step : coro::work {
    step(resident& r, void (*f)(coro::work&) noexcept) noexcept : owner(r) { run = f; }
    resident& owner;
    bool posted = false;  // guarded by the door's mutex: it was posted, or must no longer be
  };
  static task<> live(std::unique_ptr<resident> who);
  void ask(step& s) noexcept;
  // A posted step runs. Returns false if the resident has left.
  bool heed() noexcept;
  void end_if_unasked() noexcept;

  std::shared_ptr<residence> door_ = std::make_shared<residence>();
  loop* home_ = nullptr;
  std::coroutine_handle<> life_;
  step ask_to_leave_;
  step ask_to_retire_;
  step end_;  // resumes life_
  int asks_ = 0;  // guarded by the door's mutex: how many of the first two are in the queue
  bool leaving_ = false;
  bool left_ = false;
};

}  // namespace coracle::runtime_internal
