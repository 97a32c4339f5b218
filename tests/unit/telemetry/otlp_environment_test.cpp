#include "telemetry/otlp/environment.hpp"

#include "support/kept_log.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace coracle::telemetry_internal::otlp_environment_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using testing_support::kept_log;

class otlp_environment : public ::testing::Test {
 protected:
  otlp_options read(const std::map<std::string, std::string>& all) {
    return read_otlp_environment(
        [&](const std::string& name) -> const char* {
          const auto at = all.find(name);
          return at == all.end() ? nullptr : at->second.c_str();
        },
        log_);
  }
  kept_log log_;
};

TEST_F(otlp_environment, TheDefaultsAreThoseOfTheSpecification) {
  const otlp_options o = read({});
  EXPECT_EQ(o.metrics.endpoint, "http://localhost:4318/v1/metrics");
  EXPECT_EQ(o.spans.endpoint, "http://localhost:4318/v1/traces");
  EXPECT_EQ(o.logs.endpoint, "http://localhost:4318/v1/logs");
  EXPECT_EQ(o.metrics.protocol, otlp_protocol::http_protobuf);
  EXPECT_TRUE(o.metrics.enabled && o.spans.enabled && o.logs.enabled);
  EXPECT_FALSE(o.metrics.gzip);
  EXPECT_EQ(o.metrics.timeout, 10s);
  EXPECT_EQ(o.metrics_interval, 60s);
  EXPECT_EQ(o.metrics_timeout, 30s);
  EXPECT_EQ(o.temporality, otlp_temporality::cumulative);
  EXPECT_EQ(o.spans_batching.delay, 5s);
  EXPECT_EQ(o.spans_batching.queue_max, 2048U);
  EXPECT_EQ(o.spans_batching.batch_max, 512U);
  EXPECT_EQ(o.logs_batching.delay, 1s);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(otlp_environment, ExemplarsCanBeTurnedOff) {
  EXPECT_TRUE(read({}).exemplars);
  EXPECT_TRUE(read({{"OTEL_METRICS_EXEMPLAR_FILTER", "trace_based"}}).exemplars);
  EXPECT_FALSE(read({{"OTEL_METRICS_EXEMPLAR_FILTER", "ALWAYS_OFF"}}).exemplars);
  EXPECT_EQ(log_.text(), "");
  EXPECT_TRUE(read({{"OTEL_METRICS_EXEMPLAR_FILTER", "always_on"}}).exemplars);
  EXPECT_THAT(log_.text(), HasSubstr("\"always_on\" is not trace_based, always_off"));
}

TEST_F(otlp_environment, AConfigurationFileIsNotSupported) {
  const otlp_options o = read({{"OTEL_CONFIG_FILE", "/etc/otel.yaml"}, {"OTEL_SERVICE_NAME", "movies"}});
  EXPECT_THAT(log_.text(), HasSubstr("OTEL_CONFIG_FILE is ignored"));
  EXPECT_THAT(log_.text(), HasSubstr("/etc/otel.yaml"));
  EXPECT_THAT(o.resource, ElementsAre(Pair("service.name", "movies")));
}

TEST_F(otlp_environment, AVariableOfASignalWins) {
  const otlp_options o = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/otlp/"},
                               {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces.example"},
                               {"OTEL_EXPORTER_OTLP_TIMEOUT", "2000"},
                               {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "3000"},
                               {"OTEL_EXPORTER_OTLP_HEADERS", "a=1"},
                               {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "b=2,c=%2C%3D"},
                               {"OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "gzip"},
                               {"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"},
                               {"OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY", "key.pem"}});
  EXPECT_EQ(o.metrics.endpoint, "https://collector.example/otlp/v1/metrics");
  EXPECT_EQ(o.spans.endpoint, "http://traces.example");
  EXPECT_EQ(o.metrics.timeout, 2s);
  EXPECT_EQ(o.spans.timeout, 3s);
  EXPECT_THAT(o.metrics.headers, ElementsAre(Pair("b", "2"), Pair("c", ",=")));
  EXPECT_THAT(o.logs.headers, ElementsAre(Pair("a", "1")));
  EXPECT_TRUE(o.logs.gzip && !o.spans.gzip);
  EXPECT_EQ(o.spans.ca_file, "ca.pem");
  EXPECT_EQ(o.logs.key_file, "key.pem");
  EXPECT_TRUE(otlp_options::requires_tls(o.metrics));
  EXPECT_FALSE(otlp_options::requires_tls(o.spans));
}

TEST_F(otlp_environment, GrpcHasAnEndpointWithoutAPathAndOneWithoutAScheme) {
  EXPECT_EQ(read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}).metrics.endpoint, "http://localhost:4317");
  const auto endpoint_of = [&](const char* endpoint, const char* insecure) {
    return read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                 {"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint},
                 {"OTEL_EXPORTER_OTLP_INSECURE", insecure}})
        .metrics.endpoint;
  };
  EXPECT_EQ(endpoint_of("collector:4317", ""), "https://collector:4317");
  EXPECT_EQ(endpoint_of("collector:4317", "TRUE"), "http://collector:4317");
  EXPECT_EQ(endpoint_of("https://collector:4317", "true"), "https://collector:4317");
}

TEST_F(otlp_environment, ValuesThatAreNotValidAreIgnoredWithAWarning) {
  const otlp_options o = read({{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"},
                               {"OTEL_EXPORTER_OTLP_COMPRESSION", "brotli"},
                               {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
                               {"OTEL_EXPORTER_OTLP_HEADERS", "secret"},
                               {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Sideways"},
                               {"OTEL_METRIC_EXPORT_INTERVAL", "-1"},
                               {"OTEL_BSP_MAX_QUEUE_SIZE", "0"},
                               {"OTEL_SDK_DISABLED", "yes"},
                               {"OTEL_METRICS_EXPORTER", "console"}});
  EXPECT_EQ(o.metrics.protocol, otlp_protocol::http_protobuf);
  EXPECT_FALSE(o.metrics.gzip);
  EXPECT_EQ(o.metrics.timeout, 10s);
  EXPECT_TRUE(o.metrics.headers.empty());
  EXPECT_EQ(o.temporality, otlp_temporality::cumulative);
  EXPECT_EQ(o.metrics_interval, 60s);
  EXPECT_EQ(o.spans_batching.queue_max, 2048U);
  EXPECT_TRUE(o.metrics.enabled);
  const std::string log = log_.text();
  for (const char* name : {"OTLP_PROTOCOL", "OTLP_COMPRESSION", "OTLP_TIMEOUT", "OTLP_HEADERS", "PREFERENCE",
                           "EXPORT_INTERVAL", "MAX_QUEUE_SIZE", "SDK_DISABLED", "METRICS_EXPORTER"})
    EXPECT_THAT(log, HasSubstr(name));
  EXPECT_THAT(log, Not(HasSubstr("secret")));
}

TEST_F(otlp_environment, SignalsAreTurnedOff) {
  const otlp_options some = read({{"OTEL_TRACES_EXPORTER", "none"}, {"OTEL_METRICS_EXPORTER", "prometheus"}});
  EXPECT_TRUE(!some.spans.enabled && !some.metrics.enabled && some.logs.enabled);
  const otlp_options none = read({{"OTEL_SDK_DISABLED", "True"}});
  EXPECT_TRUE(!none.spans.enabled && !none.metrics.enabled && !none.logs.enabled);
  EXPECT_TRUE(read({{"OTEL_METRICS_EXPORTER", "prometheus, otlp"}}).metrics.enabled);
  EXPECT_EQ(log_.text(), "");
}

TEST_F(otlp_environment, TheServiceNameWinsOverTheResourceAttributes) {
  const otlp_options o =
      read({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=a, deployment.environment.name = a%20b%2Cc"},
            {"OTEL_SERVICE_NAME", "movies"}});
  EXPECT_THAT(o.resource,
              ElementsAre(Pair("deployment.environment.name", "a b,c"), Pair("service.name", "movies")));
}

TEST_F(otlp_environment, TheMetricsReaderAndTheBatchesAreConfigured) {
  const otlp_options o = read(
      {{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "LowMemory"},
       {"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "base2_exponential_bucket_histogram"},
       {"OTEL_METRIC_EXPORT_INTERVAL", "500"},
       {"OTEL_METRIC_EXPORT_TIMEOUT", "400"},
       {"OTEL_BSP_SCHEDULE_DELAY", "10"},
       {"OTEL_BSP_MAX_QUEUE_SIZE", "100"},
       {"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "7"}});
  EXPECT_EQ(o.temporality, otlp_temporality::lowmemory);
  EXPECT_TRUE(o.exponential_histograms);
  EXPECT_EQ(o.metrics_interval, 500ms);
  EXPECT_EQ(o.metrics_timeout, 400ms);
  EXPECT_EQ(o.spans_batching.delay, 10ms);
  EXPECT_EQ(o.spans_batching.batch_max, 100U);  // not more than the queue holds
  EXPECT_EQ(o.logs_batching.batch_max, 7U);
}

}  // namespace
}  // namespace coracle::telemetry_internal::otlp_environment_test
