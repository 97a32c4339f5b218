// The module coracle.telemetry: the module coracle, metrics and traces. Link coracle::telemetry_module. Made of the headers by scripts/module_interfaces.py.
module;

#include <coracle/telemetry/binary_log.hpp>
#include <coracle/telemetry/finished_span.hpp>
#include <coracle/telemetry/memory_span_sink.hpp>
#include <coracle/telemetry/metrics_snapshot.hpp>
#include <coracle/telemetry/otlp.hpp>
#include <coracle/telemetry/otlp_logger.hpp>
#include <coracle/telemetry/sampler.hpp>
#include <coracle/telemetry/span.hpp>
#include <coracle/telemetry/telemetry.hpp>
#include <coracle/telemetry/traces.hpp>
#include <coracle/telemetry/with_metrics.hpp>
#include <coracle/telemetry/with_pages.hpp>

export module coracle.telemetry;

export import coracle;

export namespace coracle {
using coracle::attribute_list;
using coracle::attribute_value;
using coracle::binary_log;
using coracle::binary_log_file;
using coracle::binary_log_file_options;
using coracle::binary_log_interceptor;
using coracle::binary_log_sink;
using coracle::exponential_buckets;
using coracle::export_otlp;
using coracle::finished_span;
using coracle::histogram_data;
using coracle::memory_span_sink;
using coracle::metric_exemplar;
using coracle::metric_family;
using coracle::metric_point;
using coracle::metrics_options;
using coracle::metrics_snapshot;
using coracle::otlp_batching;
using coracle::otlp_destination;
using coracle::otlp_logger;
using coracle::otlp_options;
using coracle::otlp_protocol;
using coracle::otlp_temporality;
using coracle::pages_options;
using coracle::propagator_set;
using coracle::rpc_conventions;
using coracle::sampler;
using coracle::span;
using coracle::span_event;
using coracle::span_kind;
using coracle::span_limits;
using coracle::span_link;
using coracle::span_outcome;
using coracle::span_sink;
using coracle::start_span;
using coracle::telemetry;
using coracle::telemetry_options;
using coracle::this_trace;
using coracle::trace_options;
using coracle::with_binary_log;
using coracle::with_metrics;
using coracle::with_otlp;
using coracle::with_pages;
}  // namespace coracle
