#include "handler_pool.hpp"

#include <pthread.h>

#include <system_error>
#include <utility>

namespace grpc::internal {

bool handler_pool::run(std::shared_ptr<job> next) {
  const std::lock_guard lock(changing_);
  if (idle_ <= waiting_) {
    if (threads_.size() >= max_) return false;
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      return false;
    }
    ::pthread_setname_np(threads_.back().native_handle(), "grpcpp-handler");
    ++idle_;
  } else {
    changed_.notify_one();
  }
  ++waiting_;
  job* const added = next.get();
  if (last_) last_->next_ = std::move(next);
  else first_ = std::move(next);
  last_ = added;
  return true;
}

void handler_pool::work() noexcept {
  std::unique_lock lock(changing_);
  for (;;) {
    changed_.wait(lock, [this] { return first_ || stopping_; });
    if (!first_) return;
    std::shared_ptr<job> mine = std::move(first_);
    first_ = std::move(mine->next_);
    if (!first_) last_ = nullptr;
    --waiting_;
    --idle_;
    lock.unlock();
    mine->run();
    mine.reset();
    lock.lock();
    ++idle_;
  }
}

void handler_pool::stop() noexcept {
  {
    const std::lock_guard lock(changing_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

}  // namespace grpc::internal
