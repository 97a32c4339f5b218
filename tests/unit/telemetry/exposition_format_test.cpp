#include "telemetry/prometheus/exposition_format.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::telemetry_internal::prometheus::exposition_format_test {
namespace {

std::string type_for(std::string_view accept) { return format_for(accept).content_type(); }

const std::string text = "text/plain; version=0.0.4; charset=utf-8";
const std::string openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

TEST(ExpositionFormat, IsTextWithoutAcceptAndForUnknownTypes) {
  for (const char* accept :
       {"", "*/*", "text/*", "text/plain", "text/html,image/*", ",,;", "text/plain;version=9",
        "application/openmetrics-text;q=0", "application/openmetrics-text;q=x"})
    EXPECT_EQ(type_for(accept), text) << accept;
}

TEST(ExpositionFormat, IsWhatPrometheusPrefers) {
  EXPECT_EQ(
      type_for("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
               "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
      openmetrics);
  EXPECT_EQ(
      type_for("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
               "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;q=0.5"),
      openmetrics + "; escaping=allow-utf-8");
  EXPECT_EQ(type_for("text/plain;version=0.0.4;q=0.9 , application/openmetrics-text ; q=0.8"), text);
}

TEST(ExpositionFormat, OfTwoWithOneWeightIsTheFirst) {
  EXPECT_EQ(type_for("application/openmetrics-text, text/plain"), openmetrics);
  EXPECT_EQ(type_for("text/plain, application/openmetrics-text"), text);
}

TEST(ExpositionFormat, AnswersWithTheVersionAndTheSchemeThatWereAskedFor) {
  EXPECT_EQ(type_for("Application/OpenMetrics-Text; Version=\"0.0.1\""),
            "application/openmetrics-text; version=0.0.1; charset=utf-8");
  EXPECT_EQ(type_for("text/plain;version=1.0.0;escaping=values"),
            "text/plain; version=1.0.0; charset=utf-8; escaping=values");
  EXPECT_EQ(type_for("text/plain;escaping=invented"), text);
}

}  // namespace
}  // namespace coracle::telemetry_internal::prometheus::exposition_format_test
