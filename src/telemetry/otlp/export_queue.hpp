// export_queue: spans or log records of all threads that wait for their export.
#pragma once

#include "base/if_memory_allows.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/otlp/export_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// What does not fit is dropped and counted: what came first is kept. Any thread.
template <class Item>
class export_queue {
 public:
  export_queue(const otlp_batching& b, export_counts& counts) noexcept
      : queue_max_(b.queue_max), batch_max_(b.batch_max), counts_(counts) {}

  void take(std::vector<Item>&& items) noexcept {
    std::vector<Item> taken = std::move(items);  // destroyed without the lock, as far as it is not kept
    const std::lock_guard lock(mutex_);
    const std::size_t kept = std::min(taken.size(), room());
    counts_.add_lost(closed_.value_or(loss::queue_full), taken.size() - kept);
    if (kept == 0) return;
    keep(kept, [&] {
      if (kept == taken.size()) {
        parts_.push_back(std::move(taken));
      } else {
        const auto end = taken.begin() + static_cast<std::ptrdiff_t>(kept);
        parts_.emplace_back(std::move_iterator(taken.begin()), std::move_iterator(end));
      }
    });
  }
  void add(Item item) noexcept {
    const std::lock_guard lock(mutex_);
    if (room() == 0) return counts_.add_lost(closed_.value_or(loss::queue_full), 1);
    keep(1, [&] {
      if (parts_.empty() || parts_.back().size() >= batch_max_) parts_.emplace_back();
      parts_.back().push_back(std::move(item));
    });
  }

  // Has `wake` set whenever a batch is complete, until close(); it must exist until then.
  void wake(event<>& wake) noexcept {
    const std::lock_guard lock(mutex_);
    wake_ = &wake;
    if (size_ >= batch_max_) wake.set();
  }
  // Returns the oldest items, at most a batch.
  [[nodiscard]] std::vector<Item> next_batch() {
    std::vector<Item> batch;
    batch.reserve(batch_max_);
    const std::lock_guard lock(mutex_);
    while (!parts_.empty() && batch.size() < batch_max_) {
      std::vector<Item>& front = parts_.front();
      const auto n = static_cast<std::ptrdiff_t>(std::min(front.size(), batch_max_ - batch.size()));
      batch.insert(batch.end(), std::move_iterator(front.begin()), std::move_iterator(front.begin() + n));
      size_ -= static_cast<std::size_t>(n);
      if (n == std::ssize(front)) parts_.pop_front();
      else front.erase(front.begin(), front.begin() + n);
    }
    return batch;
  }
  [[nodiscard]] bool has_batch() const noexcept {
    const std::lock_guard lock(mutex_);
    return size_ >= batch_max_;
  }
  // Counts items that were dropped before they came here.
  void add_lost(std::uint64_t n) noexcept { counts_.add_lost(loss::queue_full, n); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return counts_.lost(); }
  // Keeps nothing from now on: what is left, and what comes, is counted as lost for this reason.
  void close(loss why) noexcept {
    std::deque<std::vector<Item>> rest;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    rest.swap(parts_);
    counts_.add_lost(why, std::exchange(size_, 0));
    wake_ = nullptr;
    closed_ = why;
  }

 private:
  [[nodiscard]] std::size_t room() const noexcept {
    return closed_ ? 0 : queue_max_ - std::min(size_, queue_max_);
  }
  // `append` adds n items to the parts.
  template <class Append>
  void keep(std::size_t n, Append append) noexcept {
    if (!base::if_memory_allows(append)) return counts_.add_lost(loss::queue_full, n);
    size_ += n;
    if (wake_ && size_ >= batch_max_) wake_->set();
  }

  const std::size_t queue_max_;
  const std::size_t batch_max_;
  export_counts& counts_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::vector<Item>> parts_;  // none is empty, but for want of memory
  std::size_t size_ = 0;  // items
  event<>* wake_ = nullptr;
  std::optional<loss> closed_;
};

}  // namespace coracle::telemetry_internal
