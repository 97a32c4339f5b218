// CompletionQueue.
#include <grpcpp/completion_queue.h>

#include "deadlines.hpp"
#include "queue_core.hpp"

#include <chrono>
#include <utility>

namespace grpc {

namespace internal {

queue_core::~queue_core() {
  while (first_) first_ = std::move(first_->next_);  // not by recursion
}

void queue_core::begin() {
  const std::lock_guard lock(changing_);
  ++started_;
}

void queue_core::push(std::unique_ptr<queue_event> event) noexcept {
  const std::lock_guard lock(changing_);
  queue_event* const added = event.get();
  if (last_) last_->next_ = std::move(event);
  else first_ = std::move(event);
  last_ = added;
  --started_;
  changed_.notify_one();
}

CompletionQueue::NextStatus queue_core::next(void** tag, bool* ok, gpr_timespec deadline) {
  for (;;) {
    std::unique_ptr<queue_event> taken;
    const CompletionQueue::NextStatus found = take(taken, deadline);
    if (found != CompletionQueue::GOT_EVENT) return found;
    taken->deliver();
    if (taken->goes_back(taken)) continue;
    *tag = taken->tag_;
    *ok = taken->ok;
    return CompletionQueue::GOT_EVENT;
  }
}

CompletionQueue::NextStatus queue_core::take(std::unique_ptr<queue_event>& taken, gpr_timespec deadline) {
  std::unique_lock lock(changing_);
  const auto changed = [this] { return first_ || drained(); };
  if (!changed()) {
    // A clock that can be waited for does not reach the far future.
    constexpr coracle::duration most = std::chrono::hours(24 * 365);
    const coracle::duration left = until(deadline);
    if (left > most) changed_.wait(lock, changed);
    else if (!changed_.wait_for(lock, left, changed)) return CompletionQueue::TIMEOUT;
  }
  if (!first_) return CompletionQueue::SHUTDOWN;
  taken = std::move(first_);
  first_ = std::move(taken->next_);
  if (!first_) last_ = nullptr;
  if (drained()) changed_.notify_all();
  return CompletionQueue::GOT_EVENT;
}

void queue_core::shut_down() {
  const std::lock_guard lock(changing_);
  shut_down_ = true;
  changed_.notify_all();
}

}  // namespace internal

CompletionQueue::CompletionQueue() : core_(std::make_shared<internal::queue_core>()) {}
CompletionQueue::CompletionQueue(std::shared_ptr<internal::queue_core> core) : core_(std::move(core)) {}
CompletionQueue::~CompletionQueue() = default;
void CompletionQueue::Shutdown() { core_->shut_down(); }
CompletionQueue::NextStatus CompletionQueue::next(void** tag, bool* ok, gpr_timespec deadline) {
  return core_->next(tag, ok, deadline);
}

}  // namespace grpc
