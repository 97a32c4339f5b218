// load_sources: what a load_reporter has been told, and what it measures.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/load_report.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace coracle::server_internal {

// The calls that have ended on one loop of a server. That loop writes it, and any thread reads it.
class alignas(64) call_tally {
 public:
  void add(bool ok) noexcept {
    increment(ended_);
    if (!ok) increment(failed_);
  }
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

 private:
  static void increment(std::atomic<std::uint64_t>& n) noexcept {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> failed_{0};
};

// Any thread may call its functions.
class load_sources {
 public:
  // Measured values are renewed at most this often: a shorter interval has too few ticks of the clock that
  // counts CPU time, and A51's reports are that far apart, or further.
  static constexpr duration interval = std::chrono::seconds(1);

  void update(const std::function<void(load_report&)>& change);
  void measure_cpu();
  void measure_memory();
  void measure_calls();
  [[nodiscard]] load_report at(time_point now);
  // Changes whenever something was set.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  // Counts the calls of one more loop.
  [[nodiscard]] std::shared_ptr<call_tally> add_tally();

 private:
  // The totals at one time.
  struct reading {
    time_point when;
    duration cpu_time{};
    std::uint64_t ended = 0;
    std::uint64_t failed = 0;
  };
  [[nodiscard]] reading read(time_point now) const;
  void measure(const reading& now);

  std::mutex mutex_;
  std::atomic<std::uint64_t> version_{0};
  load_report told_;
  load_report measured_;
  double cpus_ = 0;  // 0: the CPU is not measured
  double memory_bytes_ = 0;  // 0: memory is not measured
  bool counts_calls_ = false;
  std::optional<reading> last_;
  std::vector<std::shared_ptr<call_tally>> tallies_;
};

}  // namespace coracle::server_internal
