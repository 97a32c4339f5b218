#include "runtime/blocking_pool.hpp"

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
    j.home_->post(j);
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
