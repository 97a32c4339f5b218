// loop_part: the telemetry of one loop.
#pragma once

#include "coracle/base/metrics.hpp"
#include "runtime/loop_service.hpp"
#include "telemetry/metrics/call_series.hpp"
#include "telemetry/metrics/selection.hpp"
#include "telemetry/metrics/series_table.hpp"
#include "telemetry/traces/tracer.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::net {
class tcp_meter;
}

namespace coracle::telemetry_internal {

class core;

// A copy of what a loop has measured, for the thread that sums up.
struct loop_copy {
  std::vector<series_table::copy> measured;
  std::vector<series_table::copy> reported;  // by the sources of the loop, for this copy
  std::vector<method_calls> calls;
  std::uint64_t folded = 0;
};

// Takes what is read at once for one copy: the totals of sources.
class reported_values final : public metrics_sink {
 public:
  reported_values(const selection& what, const telemetry_options& o,
                  std::chrono::system_clock::time_point start) noexcept
      : table_(what, o.series_max, o.exponential_histograms), start_(start) {}
  // metrics_sink
  void measure(const instrument& by, double value,
               std::span<const std::string_view> values) noexcept override;
  // Throws std::bad_alloc.
  [[nodiscard]] std::vector<series_table::copy> copies() const { return table_.copies(); }

 private:
  series_table table_;
  std::chrono::system_clock::time_point start_;
};

// Every function runs on its loop.
class loop_part final : public runtime_internal::loop_service, public metrics_sink {
 public:
  loop_part(std::shared_ptr<core> of, loop& owner_loop);
  ~loop_part() override;

  // metrics_sink
  void measure(const instrument& by, double value,
               std::span<const std::string_view> values) noexcept override;
  // Throws std::bad_alloc.
  [[nodiscard]] loop_copy copy() const;

  // The spans of this loop; null while no traces are recorded.
  [[nodiscard]] tracer* traces() const noexcept { return traces_.get(); }
  void use_rules(std::shared_ptr<const trace_rules> rules);
  void flush_spans() noexcept { spans_->flush(); }
  // Measures the loop's TCP connections that are opened from now on. See tcp_meter.
  void measure_tcp(bool addresses);

 private:
  // runtime_internal::loop_service
  void begin_shutdown() noexcept override;
  // The date and time, with the resolution of a loop iteration: the clock is read once a second.
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() noexcept;

  std::shared_ptr<core> of_;
  loop& loop_;
  series_table measured_;
  time_point wall_read_{};
  std::chrono::system_clock::time_point wall_{};
  std::shared_ptr<span_buffer> spans_;
  std::unique_ptr<tracer> traces_;
  net::tcp_meter* tcp_ = nullptr;  // null: TCP connections are not measured
};

}  // namespace coracle::telemetry_internal
