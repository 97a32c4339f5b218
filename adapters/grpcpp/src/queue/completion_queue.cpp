// CompletionQueue.
#include <grpcpp/completion_queue.h>

#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/values/deadlines.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

namespace grpc {

namespace internal {

namespace {

// After that many events, or so much time, the loop has a turn, though there are more: what the program
// started is to begin, and what it wrote is to be sent.
constexpr int turn_after = 64;
constexpr std::chrono::microseconds turn_after_time{100};

}  // namespace

queue_core::~queue_core() {
  if (signal_ >= 0) ::close(signal_);
  while (first_) first_ = std::move(first_->next_);  // not by recursion
}

void queue_core::begin() {
  const std::lock_guard lock(changing_);
  ++started_;
  changed();
}

bool queue_core::begin_unless_shut_down() {
  const std::lock_guard lock(changing_);
  if (shut_down_) return false;
  ++started_;
  changed();
  return true;
}

void queue_core::push(std::unique_ptr<queue_event> event) noexcept {
  std::unique_lock lock(changing_);
  if (diverting_) {
    --started_;
    lock.unlock();
    return divert(std::move(event));
  }
  queue_event* const added = event.get();
  if (last_) last_->next_ = std::move(event);
  else first_ = std::move(event);
  last_ = added;
  --started_;
  changed();
  changed_.notify_one();
  if (drives()) driver_->wake();  // with the lock: after it, another thread may take the event and end both
}

std::unique_ptr<queue_event> queue_core::set_diverting(bool diverting) noexcept {
  const std::lock_guard lock(changing_);
  diverting_ = diverting;
  if (!diverting) return nullptr;
  last_ = nullptr;
  std::unique_ptr<queue_event> waited = std::move(first_);
  changed();
  return waited;
}

CompletionQueue::NextStatus queue_core::next(void** tag, bool* ok, gpr_timespec deadline) {
  for (;;) {
    std::unique_ptr<queue_event> taken;
    const CompletionQueue::NextStatus found = take(taken, deadline);
    if (found != CompletionQueue::GOT_EVENT) return found;
    taken->deliver();
    const bool hidden = taken->goes_back(taken);
    if (taken && taken->may_go_back) [[unlikely]]
      end_without_event();
    if (hidden) continue;
    *tag = taken->tag_;
    *ok = taken->ok;
    return CompletionQueue::GOT_EVENT;
  }
}

void queue_core::end_without_event() {
  std::shared_ptr<queue_driver> driver;
  {
    const std::lock_guard lock(changing_);
    --started_;
    changed();
    if (!drained()) return;
    changed_.notify_all();
    if (drives()) driver = driver_;
  }
  if (driver) driver->wake();
}

CompletionQueue::NextStatus queue_core::take(std::unique_ptr<queue_event>& taken, gpr_timespec deadline) {
  // A clock that can be waited for does not reach the far future.
  constexpr coracle::duration most = std::chrono::hours(24 * 365);
  const coracle::duration left = until(deadline);
  const bool forever = left > most;
  const auto now = std::chrono::steady_clock::now();
  const auto end = now + (forever ? most : left);
  std::unique_lock lock(changing_);
  if (drives() && (++taken_in_a_row_ >= turn_after || now - last_io_ > turn_after_time))
    drive(lock, coracle::time_point::min(), true);
  while (!ready_) {
    if (driving_) {
      const auto when = forever ? coracle::never : coracle::time_point(end.time_since_epoch());
      bool driven = true;
      do {
        driven = drive(lock, when, false);
      } while (driven && !ready_ && (forever || driver_->now() < when));
      if (driven && !ready_) return CompletionQueue::TIMEOUT;
      continue;
    }
    queue_driver::caller_leaves();
    const auto found = [this] { return ready_ || driving_; };
    if (forever) changed_.wait(lock, found);
    else if (!changed_.wait_until(lock, end, found)) return CompletionQueue::TIMEOUT;
  }
  if (!first_) return CompletionQueue::SHUTDOWN;
  taken = std::move(first_);
  first_ = std::move(taken->next_);
  if (!first_) last_ = nullptr;
  if (taken->may_go_back) [[unlikely]]
    ++started_;
  changed();
  if (drained()) changed_.notify_all();
  return CompletionQueue::GOT_EVENT;
}

int queue_core::begin_wait() {
  {
    const std::lock_guard lock(changing_);
    // A child of fork() leaves that of its parent as it is.
    if (signal_ < 0 || signal_generation_ != process_generation()) {
      const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      if (made < 0)
        throw std::system_error(errno, std::generic_category(), "grpc++: no descriptor for a queue");
      if (signal_ >= 0) ::close(signal_);
      signal_ = made;
      signal_generation_ = counted_generation();
      signalled_ = false;
      waiting_elsewhere_ = 0;
    }
    ++waiting_elsewhere_;
    signal(ready_);
  }
  queue_driver::caller_leaves();
  return signal_;
}

void queue_core::end_wait() noexcept {
  const std::lock_guard lock(changing_);
  --waiting_elsewhere_;
  signal(waiting_elsewhere_ > 0 && ready_);
}

void queue_core::signal(bool readable) noexcept {
  if (signal_generation_ != process_generation() || std::exchange(signalled_, readable) == readable) return;
  std::uint64_t count = 1;
  // Neither fails on a descriptor that is as signalled_ says.
  const ssize_t done =
      readable ? ::write(signal_, &count, sizeof count) : ::read(signal_, &count, sizeof count);
  static_cast<void>(done);
}

bool queue_core::drive(std::unique_lock<std::mutex>& lock, coracle::time_point until, bool whole_turn) {
  using driven = queue_driver::driven;
  const std::shared_ptr<queue_driver> by = driver_;
  lock.unlock();
  const driven turns =
      by->drive([this, whole_turn] { return whole_turn || !ready_.load(std::memory_order_acquire); }, until);
  lock.lock();
  if (turns == driven::no && by == driver_) driving_ = false;
  if (turns != driven::with_io) return driving_;
  taken_in_a_row_ = 0;
  last_io_ = std::chrono::steady_clock::now();
  return true;
}

void queue_core::set_driver(std::shared_ptr<queue_driver> driver) {
  std::shared_ptr<queue_driver> of_clients;
  {
    const std::lock_guard lock(changing_);
    loop_of_server_ = driver->loop_index();
    std::swap(driver_, driver);
    // Not that of another server that had the queue: its runtime may be gone.
    if (loop_ && driver == loop_->driver()) of_clients = std::move(driver);
    driving_ = true;
    changed_.notify_all();
  }
  if (of_clients && of_clients->is_of_process()) of_clients->leave_to_watch();
}

coracle::runtime& queue_core::clients() {
  const auto known = [this]() -> coracle::runtime* {
    coracle::runtime* const found = clients_.load(std::memory_order_acquire);
    return generation_.load(std::memory_order_relaxed) == process_generation() ? found : nullptr;
  };
  if (coracle::runtime* const found = known()) return *found;
  const std::lock_guard lock(changing_);
  if (coracle::runtime* const found = known()) return *found;
  coracle::runtime* serving = nullptr;
  if (!clients_.load(std::memory_order_relaxed) && !driver_) {
    loop_ = client_loop::take();
    if (loop_) {
      serving = &loop_->runtime();
      driver_ = loop_->driver();
      driving_ = true;
      changed_.notify_all();  // threads that wait in Next() are to drive it
    }
  }
  if (!serving) serving = &client_runtime();
  generation_.store(counted_generation(), std::memory_order_relaxed);
  clients_.store(serving, std::memory_order_release);
  return *serving;
}

// The driver of the parent of this process, which was forked, has no threads here.
bool queue_core::drives() noexcept {
  if (driving_ && !driver_->is_of_process()) driving_ = false;
  return driving_;
}

bool queue_core::is_abandoned() {
  const std::lock_guard lock(changing_);
  return abandoned_;
}

void queue_core::abandon() noexcept {
  client_loop* taken = nullptr;
  {
    const std::lock_guard lock(changing_);
    abandoned_ = true;
    taken = std::exchange(loop_, nullptr);
    driving_ = false;
  }
  if (taken) taken->give_back();
}

void queue_core::shut_down() {
  queue_driver* driver = nullptr;
  {
    const std::lock_guard lock(changing_);
    shut_down_ = true;
    changed();
    changed_.notify_all();
    if (drives()) driver = driver_.get();
  }
  if (driver) driver->wake();
}

}  // namespace internal

CompletionQueue::CompletionQueue() : core_(std::make_shared<internal::queue_core>()) {}
CompletionQueue::CompletionQueue(std::shared_ptr<internal::queue_core> core) : core_(std::move(core)) {}
CompletionQueue::~CompletionQueue() { core_->abandon(); }
void CompletionQueue::Shutdown() { core_->shut_down(); }
CompletionQueue::NextStatus CompletionQueue::next(void** tag, bool* ok, gpr_timespec deadline) {
  return core_->next(tag, ok, deadline);
}

}  // namespace grpc
