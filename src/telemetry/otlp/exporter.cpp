#include "telemetry/otlp/exporter.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/runtime_options.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/server.hpp"
#include "coracle/telemetry/otlp_logger.hpp"
#include "runtime/runtime_core.hpp"
#include "telemetry/otlp/encode_logs.hpp"
#include "telemetry/otlp/encode_metrics.hpp"
#include "telemetry/otlp/encode_spans.hpp"
#include "telemetry/otlp/resource.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

std::unique_ptr<runtime> make_runtime(logger& log) {
  runtime_options o;
  o.log = &log;
  o.blocking_threads = 1;  // sums up what the loops have measured
  return std::make_unique<runtime>(o);
}

}  // namespace

exporter::exporter(core& of, const otlp_options& o)
    : of_(of),
      options_(o),
      loggers_(exporting_loggers(of.owner().log())),
      other_loggers_(of.owner().log()),
      log_(loggers_.empty() ? of.owner().log() : other_loggers_, log_room::telemetry),
      on_(make_runtime(loggers_.empty() ? of.owner().log() : other_loggers_)),
      resource_(encode_resource(resource_attributes(of.owner(), o.resource))) {
  if (options_.spans.enabled) spans_.emplace(options_.spans_batching, counts_of(signal::spans));
  if (options_.logs.enabled && !loggers_.empty())
    lines_.emplace(options_.logs_batching, counts_of(signal::logs));
  on_->spawn_on(on_->at(0), begin());
  on_->start();
}

task<> exporter::begin() {
  state_ = std::make_unique<state>();
  if (auto to = make_delivery(signal::metrics, options_.metrics))
    state_->tasks.spawn(export_metrics(std::move(to)));
  if (auto to = make_delivery(signal::spans, options_.spans)) {
    spans_->wake(state_->spans_due);
    state_->tasks.spawn(export_queued(
        std::move(to),
        queued<finished_span>{signal::spans, *spans_, state_->spans_due, options_.spans_batching,
                              options_.spans.request_bytes_max, encode_spans}));
  } else if (spans_) {
    spans_->close(loss::refused);
  }
  if (!lines_) co_return;
  for (otlp_logger* const l : loggers_) l->internals().connect(*lines_);
  if (auto to = make_delivery(signal::logs, options_.logs)) {
    lines_->wake(state_->lines_due);
    state_->tasks.spawn(export_queued(
        std::move(to), queued<std::string>{signal::logs, *lines_, state_->lines_due, options_.logs_batching,
                                           options_.logs.request_bytes_max, encode_logs}));
  } else {
    lines_->close(loss::refused);
  }
  co_return;
}

std::unique_ptr<delivery> exporter::make_delivery(signal s, const otlp_destination& to) {
  if (!to.enabled) return nullptr;
  const auto unusable = [&](std::string_view why) {
    log_.error("OTLP: ", name_of(s), " are not exported: ", why);
    return nullptr;
  };
  const auto at = parse_endpoint(to.endpoint, to.protocol);
  if (!at.ok()) return unusable(at.status().message());
  if (!to.credentials.failure().ok()) return unusable(to.credentials.failure().message());
  if (at->secured == endpoint_parts::security::tls && !to.credentials.secure())
    return unusable(to.endpoint +
                    " requires TLS: call otlp_options::use_tls<coracle::tls::client_options>()");
  return std::make_unique<delivery>(*on_, s, to, *at, state_->ending, log_, counts_of(s));
}

void exporter::report(metrics_sink& to) const noexcept {
  for (const signal s : {signal::metrics, signal::spans, signal::logs})
    counts_[static_cast<std::size_t>(s)].report(s, to);
}

time_point exporter::give_up_after(duration timeout) const noexcept {
  return std::min(deadline_after(loop::current()->now(), timeout), state_->end);
}

// --- metrics

task<> exporter::export_metrics(std::unique_ptr<delivery> to) {
  for (bool last = false; !last;) {
    last = co_await wait_for(state_->ending, options_.metrics_interval);
    // Out of memory, for example: the next export may succeed.
    try {
      co_await export_once(*to);
    } catch (const std::exception& e) {
      log_.error("OTLP: an export of metrics failed: ", std::string_view(e.what()));
    }
  }
}

task<> exporter::export_once(delivery& to) {
  const time_point give_up = give_up_after(options_.metrics_timeout);
  metrics_snapshot now = co_await of_.metrics();
  if (!options_.exemplars)
    for (metric_family& f : now.families)
      for (metric_point& p : f.points) p.exemplars.clear();
  metrics_batch batch = encode_metrics(now, options_.temporality, state_->baseline, resource_,
                                       options_.metrics.request_bytes_max);
  if (batch.too_large != 0) counts_of(signal::metrics).add_lost(loss::too_large, batch.too_large);
  for (export_request& r : batch.requests) {
    const std::size_t first = r.first;
    const std::size_t end = first + r.items;
    const bool taken = co_await to.send(std::move(r), give_up);
    if (!taken || options_.temporality == otlp_temporality::cumulative) continue;
    for (std::size_t i = first; i < end; ++i)
      state_->baseline.delivered(*batch.points[i].family, *batch.points[i].total, now.time);
  }
}

// --- spans and log records

template <class Item>
task<> exporter::export_queued(std::unique_ptr<delivery> to, queued<Item> q) {
  for (bool last = false; !last;) {
    co_await wait_for(q.due, q.how.delay);
    q.due.reset();
    last = state_->ending.is_set();
    try {
      // Without a pause while there are whole batches, and to the end if this is it.
      do {
        std::vector<Item> batch = q.from.next_batch();
        if (batch.empty()) break;
        co_await export_batch(*to, std::move(batch), q);
        last |= state_->ending.is_set();
      } while (last || q.from.has_batch());
    } catch (const std::exception& e) {
      log_.error("OTLP: an export of ", name_of(q.which), " failed: ", std::string_view(e.what()));
    }
  }
}

template <class Item>
task<> exporter::export_batch(delivery& to, std::vector<Item> batch, queued<Item> q) {
  const time_point give_up = give_up_after(q.how.timeout);
  encoded_batch encoded = q.encode(batch, resource_, q.request_bytes_max);
  counts_of(q.which).add_lost(loss::too_large, encoded.too_large);
  batch.clear();
  for (export_request& r : encoded.requests) co_await to.send(std::move(r), give_up);
}

// --- the end

void exporter::runtime_ended() noexcept {
  sync_wait(*on_, on_->at(0), end());
  on_ = nullptr;
}

task<> exporter::end() {
  state_->end = deadline_after(loop::current()->now(), options_.shutdown_timeout);
  state_->ending.set();
  state_->spans_due.set();
  state_->lines_due.set();
  auto join = [](state& s) -> task<> {
    co_await s.tasks.join();
    s.done.set();
  };
  scope joining;
  joining.spawn(join(*state_));
  const bool in_time = co_await wait_for(state_->done, options_.shutdown_timeout);
  if (!in_time) log_.warning("OTLP: the runtime ends before its last telemetry was sent");
  state_->tasks.request_stop();
  co_await joining.join();
  if (spans_) spans_->close(loss::shutdown);
  if (lines_) {
    for (otlp_logger* const l : loggers_) l->internals().disconnect(*lines_);
    lines_->close(loss::shutdown);
  }
  state_ = nullptr;
}

}  // namespace coracle::telemetry_internal

namespace coracle {

void export_otlp(telemetry of, const otlp_options& options) {
  telemetry_internal::core& core = of.internals();
  CORACLE_REQUIRE(!core.owner().core().driven_by(), "export_otlp() uses sockets: not in a simulation");
  const auto made = std::make_shared<telemetry_internal::exporter>(core, options);
  core.attach(made);
  if (span_sink* const spans = made->spans()) of.add_span_sink(std::shared_ptr<span_sink>(made, spans));
}

telemetry with_otlp(server& to, const otlp_options& options) {
  telemetry_options measure;
  measure.exponential_histograms = options.exponential_histograms;
  telemetry t(to.owner(), measure);
  t.observe(to);
  export_otlp(t, options);
  return t;
}

}  // namespace coracle
