#include "telemetry/otlp/export_counts.hpp"

namespace coracle::telemetry_internal {

namespace {

constexpr instrument delivered_items{
    .name = "coracle.telemetry.exported",
    .description = "Data points, spans and log records that a collector has accepted.",
    .unit = "{item}",
    .labels = {"coracle.telemetry.signal"},
    .optional_labels = {},
    .bounds = {}};
constexpr instrument lost_items{
    .name = "coracle.telemetry.lost",
    .description = "Data points, spans and log records that were not delivered to a collector.",
    .unit = "{item}",
    .labels = {"coracle.telemetry.signal", "coracle.telemetry.loss"},
    .optional_labels = {},
    .bounds = {}};
constexpr instrument retried_requests{.name = "coracle.telemetry.retries",
                                      .description = "Export requests that were sent again.",
                                      .unit = "{request}",
                                      .labels = {"coracle.telemetry.signal"},
                                      .optional_labels = {},
                                      .bounds = {}};

constexpr std::array all_of_exports{&delivered_items, &lost_items, &retried_requests};

}  // namespace

std::span<const instrument* const> export_instruments() noexcept { return all_of_exports; }

std::string_view name_of(loss l) noexcept {
  switch (l) {
    case loss::queue_full: return "queue_full";
    case loss::timeout: return "timeout";
    case loss::refused: return "refused";
    case loss::rejected: return "rejected";
    case loss::too_large: return "too_large";
    case loss::shutdown: break;
  }
  return "shutdown";
}

std::uint64_t export_counts::lost() const noexcept {
  std::uint64_t all = 0;
  for (const auto& n : lost_) all += n.load(std::memory_order_relaxed);
  return all;
}

void export_counts::report(signal s, metrics_sink& to) const noexcept {
  const std::array<std::string_view, 1> of{name_of(s)};
  to.measure(delivered_items, static_cast<double>(delivered_.load(std::memory_order_relaxed)), of);
  to.measure(retried_requests, static_cast<double>(retries_.load(std::memory_order_relaxed)), of);
  for (std::size_t i = 0; i < losses; ++i) {
    const std::uint64_t n = lost_[i].load(std::memory_order_relaxed);
    const std::array<std::string_view, 2> labels{of[0], name_of(static_cast<loss>(i))};
    if (n != 0) to.measure(lost_items, static_cast<double>(n), labels);
  }
}

}  // namespace coracle::telemetry_internal
