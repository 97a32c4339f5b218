// log_outlet: where the lines of an otlp_logger go.
#pragma once

#include "coracle/base/log.hpp"
#include "telemetry/otlp/export_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace coracle {
class otlp_logger;
}

namespace coracle::telemetry_internal {

// Encoded lines.
using log_queue = export_queue<std::string>;

// Passes lines to the queues of exporters. While there is none, it keeps the first ones for the next
// exporter: a runtime logs before it has telemetry. Any thread.
class log_outlet {
 public:
  static constexpr std::size_t early_max = 2048;

  void add(const log_record& line) noexcept;
  // The queue gets all lines until disconnect(), and must exist until then.
  void connect(log_queue& to);
  void disconnect(const log_queue& from) noexcept;

 private:
  std::mutex mutex_;  // guards what follows
  std::vector<log_queue*> queues_;
  std::vector<std::string> early_;
  std::uint64_t early_lost_ = 0;
};

// The loggers that export lines: `log` itself, or those that it passes its lines to.
[[nodiscard]] std::vector<otlp_logger*> exporting_loggers(logger& log);

// The log of an exporter: passes lines to all loggers of a runtime's log but those that export lines, or each
// failed export would be a reason for another one.
class log_without_export final : public record_logger {
 public:
  // `all` must outlive it, and applies its minimum levels.
  explicit log_without_export(logger& all) noexcept : all_(all) { set_min_level(log_level::debug); }

 protected:
  void accept(const log_record& line) noexcept override { pass(all_, line); }

 private:
  static void pass(logger& to, const log_record& line) noexcept;
  logger& all_;
};

}  // namespace coracle::telemetry_internal
