// with_metrics: serves the metrics of a server for Prometheus.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/http_request.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

class server;

/// The options of with_metrics(). A value type: set the members that differ from the defaults.
class metrics_options {
 public:
  /// All defaults.
  metrics_options() noexcept {}
  /// What is measured. A runtime has one telemetry, which takes the options of its first user.
  telemetry_options telemetry;
  /// The address of a port of its own for the metrics: "0.0.0.0:9464", "*:9464" or "unix:/path". It serves
  /// them in plaintext as long as the runtime exists, also while the server drains. Firewalls decide who
  /// reaches it. Default: empty, the ports of the server serve the metrics.
  std::string address;
  /// Where the metrics are: GET of this path. Default: "/metrics".
  std::string path = "/metrics";
  /// Decides who may read the metrics; called for every request, on the loop of its connection. OK admits the
  /// request. UNAUTHENTICATED becomes 401, for which Prometheus needs `basic_auth` or `authorization`; any
  /// other status becomes 403. The client sees the message.
  ///
  /// Default: none. The ports of the server then answer only clients of the same machine, over loopback or a
  /// UNIX socket, because metrics describe what a service does; others, and requests that a proxy has
  /// forwarded (Forwarded, X-Forwarded-For), get 403. A port of its own (`address`) answers everybody.
  std::function<status(const http_request&)> authorize;
  /// What the process is, as attributes of OpenTelemetry: {"service.name", "movies"}. They are reported as
  /// the labels of `target_info`, beside those that describe this library (`telemetry.sdk.*`). Default: none.
  std::vector<std::pair<std::string, std::string>> resource;
  /// The maximum number of series, which are lines with a value, in a response. A request that would get more
  /// of them gets 503 with the number. A million takes about 120 MB. Default: 250,000.
  std::size_t series_max = 250'000;
};
static_assert(!std::is_aggregate_v<metrics_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Measures a server and its runtime, and serves the metrics for Prometheus, in its text format or as
/// OpenMetrics, compressed by zstd or gzip for clients that accept it. Call it before the first listen() or
/// in_process(). Link coracle::telemetry.
///
///   coracle::with_metrics(server);  // http://127.0.0.1:50051/metrics
///
///   coracle::metrics_options options;
///   options.address = "*:9464";
///   coracle::with_metrics(server, options);  // http://the-host:9464/metrics
///
/// Names are those of OpenTelemetry in the characters of Prometheus: grpc.server.call.duration in seconds is
/// `grpc_server_call_duration_seconds`. docs/reference/metrics.md lists them. Exponential histograms are
/// served with at most 65 bounds, powers of the square root of 2, because the text formats have no such
/// histograms.
///
/// The loops only copy what they have measured; a thread for blocking work writes the text. At most 8
/// requests are served at a time, and further ones get 503.
///
/// Returns the telemetry, which measures and serves as long as the runtime exists, whether or not it is kept.
/// Throws usage_error if the path is invalid or taken, and status_error if `address` cannot be listened on.
telemetry with_metrics(server& on, metrics_options options = {});

}  // namespace coracle
