#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace grpc::internal {

namespace {

// Long beside the time that it takes to wake a thread, and short beside what a client notices.
constexpr std::chrono::microseconds watch_period{500};
// At this rate a handler waits for a free thread for a tenth of a period.
constexpr std::size_t good_rate = 10;

}  // namespace

handler_pool::handler_pool(limit most, const char* thread_name)
    : most_(most),
      thread_name_(thread_name),
      cores_(std::max<std::size_t>(std::thread::hardware_concurrency(), 1)),
      held_(most.shared ? std::make_unique<std::uint32_t[]>(places) : nullptr) {}

bool handler_pool::may_defer() const noexcept {
  return watching_ && running_ + called_ >= cores_ && std::max(ended_, ended_before_) >= good_rate;
}

bool handler_pool::find_thread(worker*& to_wake) {
  if (!idle_.empty()) {
    to_wake = idle_.back();
    idle_.pop_back();
    to_wake->wake = true;
    ++called_;
    return true;
  }
  try {
    worker& made = workers_.emplace_back();
    made.place = std::prev(workers_.end());
    made.thread = std::thread([this, &made] { work(made); });
    ::pthread_setname_np(made.thread.native_handle(), thread_name_);
  } catch (const std::system_error&) {
    workers_.pop_back();
    return false;
  }
  ++called_;
  return true;
}

void handler_pool::append(std::shared_ptr<job> next) noexcept {
  job* const added = next.get();
  if (last_) last_->next_ = std::move(next);
  else first_ = std::move(next);
  last_ = added;
  ++waiting_;
}

void handler_pool::begin_watch() {
  if (!watch_.joinable()) {
    try {
      watch_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
      return;  // each handler is then given a thread at once
    }
    ::pthread_setname_np(watch_.native_handle(), "grpcpp-watch");
  }
  watching_ = true;
  watch_changed_.notify_one();
}

handler_pool::outcome handler_pool::run(std::shared_ptr<job> next, std::size_t client) {
  worker* to_wake = nullptr;
  {
    const std::lock_guard lock(changing_);
    const std::size_t all = running_ + waiting_;
    if (all >= most_.handlers) return outcome::above_limit;
    if (held_ && client != 0) {
      next->client_ = static_cast<std::uint16_t>(client % (places - 1) + 1);
      if (held_[next->client_] >= most_.handlers - all) return outcome::above_share;
    }
    if (!watching_ && loops_lag()) begin_watch();
    if (may_defer() || (watching_ && (lagged_ || loops_lag()))) {
      deferred_ = true;
    } else {
      if (!find_thread(to_wake)) return outcome::no_thread;
      if (!watching_ && running_ + called_ > cores_) begin_watch();
    }
    if (held_) ++held_[next->client_];
    append(std::move(next));
  }
  if (to_wake) to_wake->woken.notify_one();
  return outcome::accepted;
}

void handler_pool::work(worker& self) noexcept {
  std::unique_lock lock(changing_);
  --called_;
  for (;;) {
    while (first_ && (stopping_ || !watching_ || !loops_lag())) {
      std::shared_ptr<job> mine = std::move(first_);
      first_ = std::move(mine->next_);
      if (!first_) last_ = nullptr;
      --waiting_;
      if (old_ != 0) --old_;
      ++running_;
      const std::uint16_t client = mine->client_;
      lock.unlock();
      mine->run();
      mine.reset();
      lock.lock();
      --running_;
      if (held_) --held_[client];
      ++ended_;
    }
    if (stopping_) return;
    self.wake = false;
    idle_.push_back(&self);
    if (!wait_idle(self, lock)) return end(self, lock);
    if (!stopping_) --called_;
  }
}

bool handler_pool::wait_idle(worker& self, held_lock& lock) {
  const auto woken = [&] { return self.wake; };
  // The one that worked last is woken first, so that the others stay idle.
  while (workers_.size() > cores_) {
    if (self.woken.wait_for(lock, most_.idle_time, woken)) return true;
    if (workers_.size() > cores_) return false;
  }
  self.woken.wait(lock, woken);
  return true;
}

void handler_pool::end(worker& self, held_lock& lock) noexcept {
  idle_.erase(std::find(idle_.begin(), idle_.end(), &self));
  std::thread before = std::exchange(ended_thread_, std::move(self.thread));
  workers_.erase(self.place);
  lock.unlock();
  if (before.joinable()) before.join();
}

void handler_pool::watch() noexcept {
  std::unique_lock lock(changing_);
  for (;;) {
    watch_changed_.wait(lock, [this] { return watching_ || stopping_; });
    watch_changed_.wait_for(lock, watch_period, [this] { return stopping_; });
    if (stopping_) return;
    std::size_t missing = old_ > called_ ? old_ - called_ : 0;
    // What has waited for the loops begins by and by, or it would outrun them again.
    const bool lag = loops_lag();
    lagged_ = lag || (lagged_ && waiting_ != 0);
    if (lagged_) missing = lag ? 0 : std::min(missing, cores_);
    for (; missing != 0; --missing) {
      worker* to_wake = nullptr;
      if (!find_thread(to_wake)) break;
      if (to_wake) to_wake->woken.notify_one();
    }
    old_ = waiting_;
    ended_before_ = std::exchange(ended_, 0);
    // Handlers that wait for nothing need no watch.
    if (!std::exchange(deferred_, false) && waiting_ == 0) watching_ = false;
  }
}

void handler_pool::stop() noexcept {
  {
    const std::lock_guard lock(changing_);
    stopping_ = true;
    for (worker* const w : idle_) {
      w->wake = true;
      w->woken.notify_one();
    }
    idle_.clear();
    watch_changed_.notify_one();
  }
  if (watch_.joinable()) watch_.join();
  for (worker& w : workers_)
    if (w.thread.joinable()) w.thread.join();
  if (ended_thread_.joinable()) ended_thread_.join();
}

}  // namespace grpc::internal
