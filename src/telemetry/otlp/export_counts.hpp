// export_counts: what an exporter has delivered and lost of one signal, and the instruments that show it.
#pragma once

#include "coracle/base/metrics.hpp"
#include "telemetry/otlp/destination.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::telemetry_internal {

// The instruments of exporters.
[[nodiscard]] std::span<const instrument* const> export_instruments() noexcept;

// Why items are not delivered.
enum class loss : std::uint8_t {
  queue_full,  // they came faster than they were sent
  timeout,     // the collector did not take them within the time of an export
  refused,     // its answer says that trying again is useless
  rejected,    // it took the request without them (partial success)
  too_large,   // one is larger than a request may be
  shutdown,    // the runtime ended before they were sent
};
inline constexpr std::size_t losses = 6;
[[nodiscard]] std::string_view name_of(loss l) noexcept;

// Any thread.
class export_counts {
 public:
  void add_delivered(std::uint64_t n) noexcept { delivered_.fetch_add(n, std::memory_order_relaxed); }
  void add_lost(loss l, std::uint64_t n) noexcept {
    lost_[static_cast<std::size_t>(l)].fetch_add(n, std::memory_order_relaxed);
  }
  void add_retry() noexcept { retries_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t lost() const noexcept;
  void report(signal s, metrics_sink& to) const noexcept;

 private:
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::array<std::atomic<std::uint64_t>, losses> lost_{};
};

}  // namespace coracle::telemetry_internal
