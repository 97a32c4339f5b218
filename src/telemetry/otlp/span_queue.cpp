#include "telemetry/otlp/span_queue.hpp"

#include "base/if_memory_allows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::telemetry_internal {

void span_queue::take(std::vector<finished_span>&& batch) noexcept {
  std::vector<finished_span> taken =
      std::move(batch);  // destroyed without the lock, as far as it is not kept
  const std::lock_guard lock(mutex_);
  const std::size_t room = closed_ ? 0 : queue_max_ - std::min(size_, queue_max_);
  const std::size_t kept = std::min(taken.size(), room);
  counts_.add_lost(closed_.value_or(loss::queue_full), taken.size() - kept);
  if (kept == 0) return;
  const bool whole = base::if_memory_allows([&] {
    if (kept == taken.size()) {
      batches_.push_back(std::move(taken));
    } else {
      const auto end = taken.begin() + static_cast<std::ptrdiff_t>(kept);
      batches_.emplace_back(std::move_iterator(taken.begin()), std::move_iterator(end));
    }
    size_ += kept;
  });
  if (!whole) counts_.add_lost(loss::queue_full, kept);
  if (wake_ && size_ >= batch_max_) wake_->set();
}

void span_queue::wake(event<>& wake) noexcept {
  const std::lock_guard lock(mutex_);
  wake_ = &wake;
  if (size_ >= batch_max_) wake.set();
}

bool span_queue::has_batch() const noexcept {
  const std::lock_guard lock(mutex_);
  return size_ >= batch_max_;
}

std::vector<finished_span> span_queue::next_batch() {
  std::vector<finished_span> batch;
  batch.reserve(batch_max_);
  const std::lock_guard lock(mutex_);
  while (!batches_.empty() && batch.size() < batch_max_) {
    std::vector<finished_span>& front = batches_.front();
    const auto n = static_cast<std::ptrdiff_t>(std::min(front.size(), batch_max_ - batch.size()));
    batch.insert(batch.end(), std::move_iterator(front.begin()), std::move_iterator(front.begin() + n));
    size_ -= static_cast<std::size_t>(n);
    if (n == std::ssize(front)) batches_.pop_front();
    else front.erase(front.begin(), front.begin() + n);
  }
  return batch;
}

void span_queue::close(loss why) noexcept {
  std::deque<std::vector<finished_span>> rest;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  rest.swap(batches_);
  counts_.add_lost(why, std::exchange(size_, 0));
  wake_ = nullptr;
  closed_ = why;
}

}  // namespace coracle::telemetry_internal
