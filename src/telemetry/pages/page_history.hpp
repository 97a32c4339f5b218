// page_history: what was measured a few seconds ago, so that pages can show rates.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "telemetry/core.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::telemetry_internal {

// What was measured at one time.
struct page_sample {
  metrics_snapshot metrics;
  std::vector<loop_counters> loops;  // by index
};

// Two samples, between which rates are taken.
struct sample_pair {
  std::shared_ptr<const page_sample> before, now;
  [[nodiscard]] double seconds() const noexcept {
    return std::chrono::duration<double>(now->metrics.time - before->metrics.time).count();
  }
};

// Samples are taken when a page asks, not in the background: a server whose pages are not open takes none.
// Any loop.
class page_history {
 public:
  // Rates are taken over this time, if a page has asked often enough; over a longer one otherwise.
  static constexpr std::chrono::seconds window{10};
  static constexpr std::chrono::milliseconds interval_min{900};

  explicit page_history(std::shared_ptr<core> of);
  // Takes a sample, and returns it with one from before.
  [[nodiscard]] task<sample_pair> take();

 private:
  std::shared_ptr<const page_sample> keep(std::shared_ptr<const page_sample> now);

  const std::shared_ptr<core> of_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<const page_sample>> samples_;  // never empty; oldest first
};

}  // namespace coracle::telemetry_internal
