// loop_service: an object that lives on a loop in the background, such as a channel's connections on that
// loop.
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

class loop_service;

// The handle by which other threads reach a service, which may already be gone.
class loop_service_handle {
 public:
  // Makes the service's loop call begin_shutdown(), once. Any thread, any number of times; has no effect when
  // the service is gone.
  void request_shutdown() noexcept;
  // The same for retire().
  void request_retirement() noexcept;
  // Makes the service's loop call notified(). Requests that follow each other quickly may lead to one call.
  // Allocates nothing, so that what a service must learn does not get lost where memory runs out.
  void notify() noexcept;
  // Posts f to the service's loop. Returns false, without calling f, when the service is gone. The service
  // may also end while f is queued: f must check the registry of services on that loop.
  template <class F>
  bool run_on_loop(F f) {
    const std::lock_guard lock(mutex_);
    if (!service_) return false;
    coro::post_function(owner_loop(), std::move(f));
    return true;
  }
  // Set when the service is gone, for runtime_core::wait().
  coro::blocking_signal ended;

 private:
  friend class loop_service;
  [[nodiscard]] loop& owner_loop() const noexcept;
  std::mutex mutex_;
  loop_service* service_ = nullptr;
};

// Owned by the runtime from start() on: the runtime's destructor waits for it, run() does not.
// begin_shutdown() is called when the runtime stops, request_shutdown() is called, or the service calls
// begin_shutdown_once() itself; the service calls shutdown_finished() when it has finished.
class loop_service {
 public:
  loop_service(const loop_service&) = delete;
  loop_service& operator=(const loop_service&) = delete;
  virtual ~loop_service() = default;

  // Call it on the loop's thread, or before the loop is driven.
  static std::shared_ptr<loop_service_handle> start(loop& on, std::unique_ptr<loop_service> service);

 protected:
  loop_service();
  // The loop is driven: what belongs to its thread may be touched from now on, which the constructor must not
  // do, because the loop may be driven by another thread then. Called at most once, on the loop.
  virtual void begun() noexcept {}
  // Starts the shutdown of the service; called once, on its loop.
  virtual void begin_shutdown() noexcept = 0;
  // The service gets nothing more to do: it calls begin_shutdown_once() when it has done the rest. Called at
  // most once, on its loop, and not after begin_shutdown().
  virtual void retire() noexcept { begin_shutdown_once(); }
  // The handle's notify() was called. On the loop, and not after begin_shutdown().
  virtual void notified() noexcept {}
  // Calls notified() later, from the loop's queue. On the loop.
  void notify_later() noexcept { handle_->notify(); }
  // Calls begin_shutdown() unless it was called before. On the loop, and not inside begin_shutdown().
  void begin_shutdown_once() noexcept;
  // The service's last call: destroys this later, from the loop's queue.
  void shutdown_finished() noexcept;

 private:
  friend class loop_service_handle;
  class shutdown_awaiter;
  struct step : coro::runnable {
    step(loop_service& r, void (*f)(coro::runnable&) noexcept) noexcept : owner(r) { run = f; }
    loop_service& owner;
    bool posted = false;  // guarded by the handle's mutex: it was posted, or must no longer be
  };
  static task<> run_until_shutdown(std::unique_ptr<loop_service> service);
  void post_step(step& s) noexcept;
  // A posted step runs; only the notification may be posted again. Returns false if the service has ended.
  bool take_step(step& s) noexcept;
  void end_unless_shutdown_requested() noexcept;

  std::shared_ptr<loop_service_handle> handle_ = std::make_shared<loop_service_handle>();
  loop* loop_ = nullptr;
  std::coroutine_handle<> lifetime_;
  step shutdown_request_;
  step retirement_request_;
  step notification_;
  step end_;  // resumes lifetime_
  int posted_steps_ = 0;  // guarded by the handle's mutex: how many of the first three are queued
  bool shutting_down_ = false;
  bool shutdown_finished_ = false;
};

}  // namespace coracle::runtime_internal
