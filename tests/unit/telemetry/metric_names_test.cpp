#include "telemetry/prometheus/metric_names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::telemetry_internal::prometheus::metric_names_test {
namespace {

using enum instrument_kind;

std::string family(std::string_view name, std::string_view unit, instrument_kind kind = gauge) {
  return name_of_metric(name, unit, kind).family;
}

TEST(MetricNames, HaveTheCharactersOfPrometheus) {
  EXPECT_EQ(family("grpc.client.attempt.started", "{attempt}", counter), "grpc_client_attempt_started");
  EXPECT_EQ(family("a..b--c__d", ""), "a_b_c_d");
  EXPECT_EQ(family("2nd", ""), "_2nd");
  EXPECT_EQ(family("", ""), "_");
  EXPECT_EQ(family("\xC3\xA9t\xC3\xA9", ""), "_t_");
}

TEST(MetricNames, EndWithTheUnitOnce) {
  EXPECT_EQ(family("grpc.server.call.duration", "s", histogram), "grpc_server_call_duration_seconds");
  EXPECT_EQ(family("grpc.server.call.rcvd_total_compressed_message_size", "By", histogram),
            "grpc_server_call_rcvd_total_compressed_message_size_bytes");
  EXPECT_EQ(family("uptime.seconds", "s"), "uptime_seconds");
  EXPECT_EQ(family("x", "By/s"), "x_bytes_per_second");
  EXPECT_EQ(family("x", "{request}/s"), "x_per_second");
  EXPECT_EQ(family("x", "ms"), "x_milliseconds");
  EXPECT_EQ(family("x", "%"), "x_percent");
  EXPECT_EQ(family("x", "Hz"), "x_hertz");
  EXPECT_EQ(family("x", "1"), "x_ratio");
  EXPECT_EQ(family("x", "1", counter), "x");
  EXPECT_EQ(family("x", "fortnight"), "x_fortnight");
  EXPECT_EQ(family("x", "\"\n"), "x");
  EXPECT_EQ(name_of_metric("a", "By", gauge).unit, "bytes");
}

TEST(MetricNames, OfCountersEndWithTotalAfterTheUnit) {
  EXPECT_EQ(family("sent.total", "By", counter), "sent_bytes");
  EXPECT_EQ(family("sent.total", "", gauge), "sent_total");
  EXPECT_EQ(family("total", "", counter), "total");
}

TEST(MetricNames, OfLabelsAreNeverThoseOfTheFormat) {
  EXPECT_EQ(name_of_label("grpc.lb.backend_service", false), "grpc_lb_backend_service");
  EXPECT_EQ(name_of_label("1st", false), "key_1st");
  EXPECT_EQ(name_of_label("__name__", false), "_name_");
  EXPECT_EQ(name_of_label("le", true), "le_");
  EXPECT_EQ(name_of_label("le", false), "le");
}

TEST(MetricNames, OnlyTheSchemeOfDotsChangesThem) {
  EXPECT_EQ(escaped("a_b", name_escaping::dots), "a__b");
  for (const auto scheme : {name_escaping::allow_utf8, name_escaping::underscores, name_escaping::values})
    EXPECT_EQ(escaped("a_b", scheme), "a_b");
}

}  // namespace
}  // namespace coracle::telemetry_internal::prometheus::metric_names_test
