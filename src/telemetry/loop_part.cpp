#include "telemetry/loop_part.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/tcp_meter.hpp"
#include "telemetry/core.hpp"
#include "telemetry/metrics/loop_instruments.hpp"
#include "telemetry/metrics/span_instruments.hpp"

#include <utility>

namespace coracle::telemetry_internal {

void reported_values::measure(const instrument& by, double value,
                              std::span<const std::string_view> values) noexcept {
  base::if_memory_allows([&] { table_.measure(by, value, values, start_); });
}

loop_part::loop_part(std::shared_ptr<core> of, loop& owner_loop)
    : of_(std::move(of)),
      loop_(owner_loop),
      measured_(of_->selected(), of_->options().series_max, of_->options().exponential_histograms),
      spans_(std::make_shared<span_buffer>(of_->sinks(), loop_)) {
  loop_.use_metrics(this);
  of_->parts_[loop_.index()] = this;
}

loop_part::~loop_part() {
  of_->parts_[loop_.index()] = nullptr;
  of_->tracers_[loop_.index()] = nullptr;
  loop_.use_metrics(nullptr);
  if (traces_) loop_.local<loop_tracer>().current = nullptr;
  if (tcp_) tcp_->disable();
  spans_->flush();
}

void loop_part::measure_tcp(bool addresses) {
  tcp_ = &loop_.local<net::tcp_meter>();
  tcp_->enable(loop_, addresses);
}

void loop_part::begin_shutdown() noexcept {
  base::if_memory_allows([&] { of_->keep_last(loop_.index(), copy()); });
  shutdown_finished();
}

std::chrono::system_clock::time_point loop_part::wall_now() noexcept {
  const time_point now = loop_.now();
  if (now - wall_read_ >= std::chrono::seconds(1) || wall_read_ == time_point{}) {
    wall_read_ = now;
    wall_ = loop_.wall_now();
  }
  return wall_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(now - wall_read_);
}

void loop_part::use_rules(std::shared_ptr<const trace_rules> rules) {
  traces_ = std::make_unique<tracer>(std::move(rules), spans_, loop_);
  of_->tracers_[loop_.index()] = traces_.get();
  loop_.local<loop_tracer>().current = traces_.get();
}

void loop_part::measure(const instrument& by, double value,
                        std::span<const std::string_view> values) noexcept {
  base::if_memory_allows([&] { measured_.measure(by, value, values, wall_now()); });
}

loop_copy loop_part::copy() const {
  loop_copy c;
  reported_values reported(of_->selected(), of_->options(), of_->started());
  report_loop(loop_, reported);
  if (traces_) report_spans(*spans_, reported);
  loop_.metrics_sources().for_each([&](const metrics_source& s) { s.report(reported); });
  c.reported = reported.copies();
  if (auto iterations = iterations_of(loop_, of_->selected(), of_->started()); !iterations.all.empty())
    c.reported.push_back(std::move(iterations));
  c.measured = measured_.copies();
  const call_series& calls = of_->calls_of(loop_);
  c.calls = calls.copies();
  c.folded = measured_.folded() + calls.folded();
  return c;
}

}  // namespace coracle::telemetry_internal
