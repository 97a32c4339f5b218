// telemetry: what operators see of a runtime: metrics and traces of its servers and channels.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/telemetry/finished_span.hpp"
#include "coracle/telemetry/metrics_snapshot.hpp"
#include "coracle/telemetry/traces.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle {

class runtime;
class server;

/// @cond
namespace telemetry_internal {
class core;  // private: src/telemetry/core.hpp
}
/// @endcond

/// What the telemetry of a runtime measures. A value type: set the members that differ from the defaults.
class telemetry_options {
 public:
  /// All defaults.
  telemetry_options() noexcept {}
  /// The names of instruments to turn on that are off by default: "grpc.client.call.retries". A name that
  /// ends with ".*" stands for all that begin with it. Default: none.
  std::vector<std::string> enabled;
  /// The names of instruments to turn off, in the same form. It wins over `enabled`. Default: none.
  std::vector<std::string> disabled;
  /// The keys of optional labels to report, on all instruments that have them. Default: none.
  std::vector<std::string> optional_labels;
  /// Decides which methods that are not registered with a server, and which calls of a client that are not
  /// made by a generated stub, are reported by name; the others are reported as "other". Runs on the loops,
  /// several at a time. Peers choose these names: admit a bounded number of them. Default: none.
  std::function<bool(std::string_view method)> admits_method;
  /// The maximum number of time series of each instrument on each loop. What exceeds it is counted in one
  /// series with the label `otel.metric.overflow`, so that sums stay right. Calls lose their optional labels,
  /// and are "other" if their method is new. Default: 2000, as OpenTelemetry's specification recommends.
  std::size_t series_max = 2000;
  /// Whether histograms of durations and sizes are exponential (base 2, at most 160 buckets). Default: false,
  /// the buckets that gRPC defines.
  bool exponential_histograms = false;
};
static_assert(!std::is_aggregate_v<telemetry_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// The telemetry of a runtime: what its loops, servers and channels measure. A handle; copies refer to the
/// same telemetry, which ends with the runtime. Any thread may use it.
///
///   coracle::telemetry telemetry(server.owner());
///   telemetry.observe(server);
///
/// with_metrics() and with_pages() do this for a server. Link coracle::telemetry.
class telemetry {
 public:
  /// Begins to measure on the loops of `on`: the loops themselves, and the channels that are made on the
  /// runtime from now on. A runtime has one telemetry: a second object is another handle to it, and ignores
  /// its options.
  explicit telemetry(runtime& on, const telemetry_options& options = {});

  /// Measures the calls of a server of the runtime, too. Call it before the first listen() or in_process().
  /// A second call for a server does nothing. Throws usage_error if the server has another runtime.
  void observe(server& which);

  /// Returns what was measured so far. The loops are queried concurrently; each copies its own part, and
  /// loops that have ended are left out. For coroutines on a loop of any runtime.
  [[nodiscard]] task<metrics_snapshot> metrics() const;

  /// Adds to metrics() what `read` returns: for values that are read on demand, such as the
  /// size of a cache. `read` runs in metrics(), on the loop that awaits it, and must not throw.
  void add_gauge(const instrument& what, std::function<double()> read);

  /// Records traces from now on: spans of the calls of observed servers, of the channels that are made on
  /// the runtime after the telemetry, and of users (coracle::span). A second call replaces the options;
  /// calls in progress keep their decision. Any thread may call this; a loop begins when it gets to it.
  void trace(const trace_options& options = {});
  /// Gives finished spans to `sink`, in batches. Without a sink, spans are dropped. The telemetry keeps the
  /// sink. Any thread may call this.
  void add_span_sink(std::shared_ptr<span_sink> sink);
  /// Gives the sinks what has ended so far, instead of within a second. For coroutines on a loop of any
  /// runtime.
  [[nodiscard]] task<> flush_spans() const;

  /// @cond  For the library.
  [[nodiscard]] telemetry_internal::core& internals() const noexcept { return *core_; }
  /// @endcond

 private:
  std::shared_ptr<telemetry_internal::core> core_;
};

}  // namespace coracle
