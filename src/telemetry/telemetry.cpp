#include "coracle/telemetry/telemetry.hpp"

#include "coracle/base/usage_error.hpp"
#include "telemetry/core.hpp"

#include <algorithm>
#include <utility>

namespace coracle {

telemetry::telemetry(runtime& on, const telemetry_options& options)
    : core_(telemetry_internal::core::of(on, options)) {}

void telemetry::observe(server& which) { core_->observe(which); }

task<metrics_snapshot> telemetry::metrics() const { return core_->metrics(); }

void telemetry::add_gauge(const instrument& what, std::function<double()> read) {
  core_->add_gauge(what, std::move(read));
}

void telemetry::trace(const trace_options& options) { core_->trace(options); }

void telemetry::add_span_sink(std::shared_ptr<span_sink> sink) {
  CORACLE_REQUIRE(sink, "add_span_sink() was given a null pointer");
  core_->sinks()->add(std::move(sink));
}

task<> telemetry::flush_spans() const { return core_->flush_spans(); }

const metric_family* metrics_snapshot::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find(families, name, &metric_family::name);
  return at == families.end() ? nullptr : &*at;
}

}  // namespace coracle
