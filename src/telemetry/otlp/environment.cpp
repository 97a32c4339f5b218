#include "telemetry/otlp/environment.hpp"

#include "base/percent.hpp"
#include "base/trimmed.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Reads variables by the rules of OpenTelemetry's specification: empty is unset, and a value that is not
// valid is reported and ignored.
class reader {
 public:
  reader(const variables& get, logger& log) noexcept : get_(get), log_(log) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    const char* const value = get_(name.c_str());
    if (!value || !*value) return std::nullopt;
    return value;
  }
  // True only for "true".
  void flag(const std::string& name, bool& to) const {
    const auto value = text(name);
    if (!value) return;
    to = equal_in_any_case(*value, "true");
    if (!to && !equal_in_any_case(*value, "false")) ignore(name, *value, "true or false; it counts as false");
  }
  template <class T>
  void choice(const std::string& name, std::initializer_list<std::pair<std::string_view, T>> choices,
              T& to) const {
    const auto value = text(name);
    if (!value) return;
    std::string known;
    for (const auto& [word, meaning] : choices) {
      if (equal_in_any_case(*value, word)) {
        to = meaning;
        return;
      }
      if (!known.empty()) known += ", ";
      known += word;
    }
    ignore(name, *value, known);
  }
  template <class N>
  void number(const std::string& name, N& to) const {
    const auto value = text(name);
    if (!value) return;
    N n = 0;
    const char* const end = value->data() + value->size();
    const auto [at, error] = std::from_chars(value->data(), end, n);
    if (error != std::errc() || at != end || n <= 0) return ignore(name, *value, "a positive whole number");
    to = n;
  }
  void milliseconds(const std::string& name, duration& to) const {
    std::int32_t ms = 0;
    number(name, ms);
    if (ms > 0) to = std::chrono::milliseconds(ms);
  }
  // "k=v,k=v" with percent-encoded values. A pair without "=" makes the whole value invalid.
  void list(const std::string& name, pairs& to) const {
    const auto value = text(name);
    if (!value) return;
    pairs all;
    for (std::string_view left = *value; !left.empty();) {
      const std::size_t comma = std::min(left.find(','), left.size());
      const std::string_view pair = base::trimmed(left.substr(0, comma));
      left.remove_prefix(std::min(comma + 1, left.size()));
      if (pair.empty()) continue;
      const std::size_t equals = pair.find('=');
      if (equals == pair.npos || equals == 0) return ignore(name, *value, "key=value,key=value");
      all.emplace_back(base::percent_decode(base::trimmed(pair.substr(0, equals))),
                       base::percent_decode(base::trimmed(pair.substr(equals + 1))));
    }
    to = std::move(all);
  }
  void ignore(const std::string& name, std::string_view value, std::string_view expected) const {
    // Header values may be secrets.
    const bool secret = name.ends_with("_HEADERS");
    log_.warning("the environment variable ", name, " is ignored: \"",
                 secret ? std::string_view("...") : value, "\" is not ", expected);
  }

 private:
  const variables& get_;
  logger& log_;
};

constexpr std::string_view exporter_prefix = "OTEL_EXPORTER_OTLP_";

// The variables of one signal win over those of all.
void read_destination(const reader& r, const std::string& signal, std::string_view path,
                      otlp_destination& d) {
  const std::string common(exporter_prefix);
  const std::string own = common + signal + "_";
  for (const std::string& prefix : {common, own}) {
    r.choice<otlp_protocol>(prefix + "PROTOCOL",
                            {{"grpc", otlp_protocol::grpc}, {"http/protobuf", otlp_protocol::http_protobuf}},
                            d.protocol);
    r.list(prefix + "HEADERS", d.headers);
    r.choice<bool>(prefix + "COMPRESSION", {{"gzip", true}, {"none", false}}, d.gzip);
    r.milliseconds(prefix + "TIMEOUT", d.timeout);
    if (const auto file = r.text(prefix + "CERTIFICATE")) d.ca_file = *file;
    if (const auto file = r.text(prefix + "CLIENT_CERTIFICATE")) d.certificate_file = *file;
    if (const auto file = r.text(prefix + "CLIENT_KEY")) d.key_file = *file;
  }
  bool insecure = false;
  for (const std::string& prefix : {common, own}) r.flag(prefix + "INSECURE", insecure);
  const bool grpc = d.protocol == otlp_protocol::grpc;
  if (const auto url = r.text(own + "ENDPOINT")) d.endpoint = *url;
  else if (const auto base = r.text(common + "ENDPOINT"))
    d.endpoint = grpc ? *base : endpoint_of_signal(*base, path);
  else
    d.endpoint =
        grpc ? std::string("http://localhost:4317") : endpoint_of_signal("http://localhost:4318", path);
  // Only gRPC has endpoints without a scheme.
  if (grpc && d.endpoint.find("://") == d.endpoint.npos)
    d.endpoint.insert(0, insecure ? "http://" : "https://");
}

void read_exporter(const reader& r, const std::string& name, bool other_is_known, bool& enabled) {
  const auto value = r.text(name);
  if (!value) return;
  enabled = false;
  bool known = false;
  for (std::string_view left = *value; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view word = base::trimmed(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 1, left.size()));
    if (equal_in_any_case(word, "otlp")) enabled = known = true;
    // Prometheus is with_metrics(), which the program calls.
    else if (equal_in_any_case(word, "none") || (other_is_known && equal_in_any_case(word, "prometheus")))
      known = true;
  }
  if (known) return;
  r.ignore(name, *value, "otlp or none");
  enabled = true;
}

void read_batching(const reader& r, const std::string& prefix, otlp_batching& b) {
  r.milliseconds(prefix + "SCHEDULE_DELAY", b.delay);
  r.milliseconds(prefix + "EXPORT_TIMEOUT", b.timeout);
  r.number(prefix + "MAX_QUEUE_SIZE", b.queue_max);
  r.number(prefix + "MAX_EXPORT_BATCH_SIZE", b.batch_max);
  b.batch_max = std::min(b.batch_max, b.queue_max);
}

}  // namespace

std::string endpoint_of_signal(std::string_view base, std::string_view path) {
  std::string url(base);
  if (!url.ends_with('/')) url += '/';
  return url.append(path);
}

otlp_options read_otlp_environment(const variables& get, logger& log) {
  const reader r(get, log);
  otlp_options o;
  read_destination(r, "METRICS", "v1/metrics", o.metrics);
  read_destination(r, "TRACES", "v1/traces", o.spans);
  read_destination(r, "LOGS", "v1/logs", o.logs);
  read_exporter(r, "OTEL_METRICS_EXPORTER", true, o.metrics.enabled);
  read_exporter(r, "OTEL_TRACES_EXPORTER", false, o.spans.enabled);
  read_exporter(r, "OTEL_LOGS_EXPORTER", false, o.logs.enabled);
  if (const auto file = r.text("OTEL_CONFIG_FILE"))
    log.warning("the environment variable OTEL_CONFIG_FILE is ignored: configuration files such as \"", *file,
                "\" are not supported. The other variables apply, and otlp_options has the same in code");
  bool disabled = false;
  r.flag("OTEL_SDK_DISABLED", disabled);
  if (disabled) o.metrics.enabled = o.spans.enabled = o.logs.enabled = false;

  r.list("OTEL_RESOURCE_ATTRIBUTES", o.resource);
  if (const auto name = r.text("OTEL_SERVICE_NAME")) {
    std::erase_if(o.resource, [](const auto& attribute) { return attribute.first == "service.name"; });
    o.resource.emplace_back("service.name", *name);
  }
  r.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", o.metrics_interval);
  r.milliseconds("OTEL_METRIC_EXPORT_TIMEOUT", o.metrics_timeout);
  r.choice<otlp_temporality>("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                             {{"cumulative", otlp_temporality::cumulative},
                              {"delta", otlp_temporality::delta},
                              {"lowmemory", otlp_temporality::lowmemory}},
                             o.temporality);
  r.choice<bool>("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
                 {{"explicit_bucket_histogram", false}, {"base2_exponential_bucket_histogram", true}},
                 o.exponential_histograms);
  // Calls without a trace have no exemplar: always_on would say nothing about them but their time.
  r.choice<bool>("OTEL_METRICS_EXEMPLAR_FILTER", {{"trace_based", true}, {"always_off", false}}, o.exemplars);
  read_batching(r, "OTEL_BSP_", o.spans_batching);
  read_batching(r, "OTEL_BLRP_", o.logs_batching);
  return o;
}

}  // namespace coracle::telemetry_internal
