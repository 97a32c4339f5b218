// otlp: sends the telemetry of a runtime to an OpenTelemetry collector (OTLP 1.x).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// How OTLP travels.
enum class otlp_protocol : std::uint8_t {
  http_protobuf,  ///< POST requests over HTTP/1.1 with binary messages; port 4318 by convention
  grpc,           ///< unary calls; port 4317 by convention
};

/// Since when the sums and histograms that are sent count.
enum class otlp_temporality : std::uint8_t {
  cumulative,  ///< since their beginning
  delta,  ///< counters and histograms since they were last delivered; up-down counters since their beginning
  lowmemory,  ///< as delta, but counters that are read from the library's own totals since their beginning
};

/// Where one signal goes: metrics, spans or logs. A value type: set the members that differ.
class otlp_destination {
 public:
  /// Without an endpoint.
  otlp_destination() noexcept {}
  /// Whether the signal is sent. Default: true.
  bool enabled = true;
  /// The URL: "http://collector:4318/v1/metrics", "https://collector:4317". For gRPC its path is ignored, and
  /// a text without "://" is a target (see channel). http is plaintext, https requires TLS in `credentials`.
  std::string endpoint;
  /// Default: http_protobuf.
  otlp_protocol protocol = otlp_protocol::http_protobuf;
  /// Header fields of each request, or metadata of each call, such as {"authorization", "Bearer ..."}.
  /// Default: none.
  std::vector<std::pair<std::string, std::string>> headers;
  /// Whether requests are compressed with gzip. Default: false.
  bool gzip = false;
  /// How long one request may take, including connecting. Default: 10 s.
  duration timeout = std::chrono::seconds(10);
  /// The maximum size of a request in bytes, before compression. What does not fit goes into further
  /// requests; a single span or point that exceeds it is dropped and counted. Default: 4 MiB, which receivers
  /// accept by default.
  std::size_t request_bytes_max = otlp_destination::request_bytes_default;
  /// The default of request_bytes_max: 4 MiB.
  static constexpr std::size_t request_bytes_default = std::size_t{4} << 20;
  /// Plaintext, or TLS: tls::client_options. See otlp_options::use_tls(). Default: plaintext.
  channel_credentials credentials = insecure();
  /// @{
  /// PEM files for use_tls(): the CAs to trust, and the certificate of this client with its key. Default:
  /// empty, which is the system's CAs and no certificate.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  /// @}
};
static_assert(!std::is_aggregate_v<otlp_destination>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// How spans or log records are collected before they are sent.
struct otlp_batching {
  duration delay = std::chrono::seconds(5);  ///< how long the first one of a batch waits for others
  duration timeout = std::chrono::seconds(30);  ///< for a batch, with all retries; then it is dropped
  std::size_t queue_max = 2048;  ///< what exceeds it is dropped and counted
  std::size_t batch_max = 512;  ///< a batch of this size is sent without delay
};

/// What is sent to an OpenTelemetry collector, and where. A value type: set the members that differ from the
/// defaults. The defaults are those of OpenTelemetry's specification.
///
///   coracle::otlp_options otlp("http://collector:4317", coracle::otlp_protocol::grpc);
///   otlp.resource = {{"service.name", "movies"}};
///   coracle::export_otlp(telemetry, otlp);
class otlp_options {
 public:
  /// All signals go to http://localhost:4318.
  otlp_options() : otlp_options("http://localhost:4318") {}
  /// All signals go to `endpoint`. With HTTP, "/v1/metrics" and so on are appended to it.
  explicit otlp_options(std::string_view endpoint, otlp_protocol p = otlp_protocol::http_protobuf);
  /// Reads the environment variables of OpenTelemetry, OTEL_EXPORTER_OTLP_ENDPOINT and the others that
  /// docs/reference/environment.md lists. Values that are not valid are ignored, and a warning in `log` names
  /// them. With OTEL_SDK_DISABLED=true, no signal is enabled.
  [[nodiscard]] static otlp_options from_environment(logger& log = stderr_logger());

  /// Where metrics go.
  otlp_destination metrics;
  /// Where spans go.
  otlp_destination spans;
  /// Where log records go.
  otlp_destination logs;

  /// Describes the program, in addition to and instead of what the library knows: service.instance.id,
  /// service.name ("unknown_service:PROGRAM"), host.name, process.pid, telemetry.sdk.*. Default: none.
  std::vector<std::pair<std::string, std::string>> resource;
  /// The time between two exports of metrics. Default: 60 s.
  duration metrics_interval = std::chrono::seconds(60);
  /// How long an export of metrics may take, with all retries. Default: 30 s.
  duration metrics_timeout = std::chrono::seconds(30);
  /// Default: cumulative.
  otlp_temporality temporality = otlp_temporality::cumulative;
  /// Whether with_otlp() turns on telemetry_options::exponential_histograms. Default: false.
  bool exponential_histograms = false;
  /// Whether metrics have exemplars: for a bucket, the latest call in it that belongs to a sampled trace.
  /// Default: true.
  bool exemplars = true;
  /// How spans are collected.
  otlp_batching spans_batching;
  /// How log records are collected: as spans, with a delay of 1 s.
  otlp_batching logs_batching{.delay = std::chrono::seconds(1)};
  /// How long the end of the runtime waits for what has not been sent yet. Default: 5 s.
  duration shutdown_timeout = std::chrono::seconds(5);

  /// Makes TLS credentials for each destination that requires TLS and has none, from its PEM files:
  ///
  ///   otlp.use_tls<coracle::tls::client_options>();
  ///
  /// It is a template because coracle::telemetry does not link coracle::tls. Credentials whose files are
  /// invalid fail each request.
  template <class TlsOptions>
  void use_tls();

  /// Returns whether a destination is enabled and has an https URL.
  [[nodiscard]] static bool requires_tls(const otlp_destination& d) noexcept;
};
static_assert(!std::is_aggregate_v<otlp_options>, "GCC 12 destroys aggregates in co_await expressions twice");

/// Sends what `of` measures to a collector, from now until the runtime of `of` ends, which then sends the
/// rest within otlp_options::shutdown_timeout. Call it once for each collector, while the runtime exists.
///
/// The exporter has a thread of its own, and its channels are not observed. A collector that is slow, broken
/// or gone costs calls nothing: what it does not take is dropped, counted in coracle.telemetry.lost, and
/// logged once until it recovers. A destination that cannot be used (an invalid URL, https without TLS
/// credentials) is logged as an error, and its signal is not sent. Throws usage_error for a runtime in a
/// simulation, and what the constructor of a runtime throws.
void export_otlp(telemetry of, const otlp_options& options);

/// Observes a server, and sends what its runtime measures to the collector that the environment names, or
/// `options`. Call it before the first listen(). Returns the telemetry of the runtime.
///
///   coracle::with_otlp(server);
telemetry with_otlp(server& to, const otlp_options& options = otlp_options::from_environment());

template <class TlsOptions>
void otlp_options::use_tls() {
  for (otlp_destination* const d : {&metrics, &spans, &logs}) {
    if (d->credentials.secure() || !requires_tls(*d)) continue;
    TlsOptions tls;
    if (!d->ca_file.empty()) tls.cas = {decltype(tls.cas)::value_type::file(d->ca_file)};
    if (!d->certificate_file.empty())
      tls.certificate = decltype(tls.certificate)::value_type::files(d->certificate_file, d->key_file);
    d->credentials = tls;
  }
}

}  // namespace coracle
