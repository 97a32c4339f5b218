// exporter: sends what a runtime measures, its spans and its log lines to a collector.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/core.hpp"
#include "telemetry/otlp/delivery.hpp"
#include "telemetry/otlp/delta_baseline.hpp"
#include "telemetry/otlp/export_counts.hpp"
#include "telemetry/otlp/log_outlet.hpp"
#include "telemetry/otlp/requests.hpp"
#include "telemetry/otlp/span_queue.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

// Has a runtime of its own with one loop, for three reasons: the loops that serve calls neither encode nor
// compress what is exported; its channels are not observed, so that exports do not cause exports; and it
// works on when the observed runtime ends, to send the rest.
class exporter final : public attachment {
 public:
  // `of` must outlive runtime_ended(). Throws what the constructor of a runtime throws.
  exporter(core& of, const otlp_options& o);
  ~exporter() override = default;

  // Takes the spans to export; null if they are not exported. Part of this object.
  [[nodiscard]] span_sink* spans() noexcept { return spans_ ? &*spans_ : nullptr; }

  // attachment
  void report(metrics_sink& to) const noexcept override;
  void runtime_ended() noexcept override;

 private:
  static constexpr std::size_t signals = 3;
  [[nodiscard]] export_counts& counts_of(signal s) noexcept { return counts_[static_cast<std::size_t>(s)]; }

  task<> begin();
  task<> end();
  // Returns null, and logs why, if the destination cannot be used.
  [[nodiscard]] std::unique_ptr<delivery> make_delivery(signal s, const otlp_destination& to);
  // Exports until `ending` is set, and once more.
  task<> export_metrics(std::unique_ptr<delivery> to);
  task<> export_once(delivery& to);
  // A signal whose items wait in a queue.
  template <class Item>
  struct queued {
    signal which;
    export_queue<Item>& from;
    event<>& due;
    const otlp_batching& how;
    std::size_t request_bytes_max;
    encoded_batch (*encode)(std::span<const Item>, std::string_view resource, std::size_t bytes_max);
  };
  // Exports until `ending` is set, and what is left then.
  template <class Item>
  task<> export_queued(std::unique_ptr<delivery> to, queued<Item> q);
  template <class Item>
  task<> export_batch(delivery& to, std::vector<Item> batch, queued<Item> q);
  // When an export that begins now ends at the latest.
  [[nodiscard]] time_point give_up_after(duration timeout) const noexcept;

  core& of_;
  const otlp_options options_;
  const std::vector<otlp_logger*> loggers_;  // whose lines are exported
  log_without_export other_loggers_;
  bound_log log_;
  std::array<export_counts, signals> counts_;
  std::optional<span_queue> spans_;  // none: they are not exported
  std::optional<log_queue> lines_;  // none: they are not exported
  std::unique_ptr<runtime> on_;  // null once the observed runtime has ended
  const std::string resource_;

  // Made, used and destroyed on the loop.
  struct state {
    event<> ending;  // the observed runtime ends
    event<> done;  // no task is left
    event<> spans_due;  // a batch is complete, or the observed runtime ends
    event<> lines_due;  // the same
    scope tasks;
    delta_baseline baseline;
    time_point end = never;
  };
  std::unique_ptr<state> state_;
};

}  // namespace coracle::telemetry_internal
