#include "coracle/runtime/offload.hpp"

#include "runtime/offload.hpp"
#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"

#include <pthread.h>
#include <signal.h>
#include <exception>
#include <utility>

namespace coracle::runtime_internal {

bool blocking_pool::push(coro::blocking_job& j) noexcept {
  const std::lock_guard lock(mutex_);
  if (queued_ + 1 > idle_ && threads_.size() < threads_max_) start_another();
  if (threads_.empty()) return false;
  queue_.push_back(j.place_);
  ++queued_;
  changed_.notify_one();
  return true;
}

// Call it under the mutex. Without memory for another thread, the existing threads do the work.
void blocking_pool::start_another() noexcept {
  try {
    threads_.reserve(threads_.size() + 1);  // storing a started thread must not throw
    threads_.push_back(start_thread("coracle/offload", [this] { serve(); }));
  } catch (const std::exception&) {
  }
}

bool blocking_pool::take_back(coro::blocking_job& j) noexcept {
  const std::lock_guard lock(mutex_);
  if (!j.place_.linked()) return false;
  j.place_.unlink();
  --queued_;
  return true;
}

void blocking_pool::serve() noexcept {
  std::unique_lock lock(mutex_);
  ++idle_;
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    coro::blocking_job& j = queue_.pop_front()->job;
    --queued_;
    --idle_;
    lock.unlock();
    j.call_(j);
    lock.lock();
    // Before the task can continue, so that a task that offloads one function after another needs one thread.
    ++idle_;
    lock.unlock();
    j.loop_->post(j);
    lock.lock();
  }
}

void blocking_pool::join() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

std::size_t blocking_pool::threads() noexcept {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

std::thread start_thread(const std::string& name, std::function<void()> body) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
    sigdelset(&blocked, own);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);  // inherited by the thread
  struct restore {
    const sigset_t& mask;
    ~restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } on_return{before};
  std::thread t(std::move(body));
  pthread_setname_np(t.native_handle(), name.substr(0, 15).c_str());
  return t;
}

}  // namespace coracle::runtime_internal

namespace coracle::coro {

blocking_job::blocking_job(void (*call)(blocking_job&) noexcept) noexcept
    : stop_callback([](stop_callback& c) noexcept {
        auto& self = static_cast<blocking_job&>(c);
        coracle::runtime_internal::runtime_core& core = self.loop_->owner().core();
        if (core.driven_by()) {
          self.stopped_ = true;
          self.loop_->arm(self, time_point::min());
        } else if (core.pool().take_back(self)) {
          self.stopped_ = true;
          self.loop_->post(self);
        }
      }),
      call_(call) {
  run = [](runnable& w) noexcept {
    auto& self = static_cast<blocking_job&>(w);
    self.stop_callback::unlink();
    self.waiter_.resume();
  };
  fire = [](timer& t) noexcept {  // under a driver, in its time
    auto& self = static_cast<blocking_job&>(t);
    if (!self.stopped_) self.call_(self);
    self.run(self);
  };
}

bool blocking_job::start(std::coroutine_handle<> waiter, const environment& e) noexcept {
  loop_ = loop::current();
  CORACLE_ASSERT(loop_, "offload() requires a runtime: await it in a task that runs on a loop");
  waiter_ = waiter;
  if (!e.stop.subscribe(*this)) {
    stopped_ = true;
    return false;
  }
  coracle::runtime_internal::runtime_core& core = loop_->owner().core();
  if (coracle::runtime_internal::driver* d = core.driven_by())
    loop_->arm(*this, deadline_after(loop_->now(), d->offload_delay()));
  else if (!core.pool().push(*this)) {
    stop_callback::unlink();
    without_thread_ = true;
    return false;
  }
  return true;
}

void blocking_job::throw_without_thread() {
  throw status_error(
      status::resource_exhausted("offload() cannot start a thread: raise the limits on memory (ulimit "
                                 "-v) and processes (ulimit -u)"));
}

}  // namespace coracle::coro
