#include "telemetry/prometheus/exposition.hpp"

#include "telemetry/metrics/exponential_histogram.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::prometheus::exposition_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using labels = std::vector<std::pair<std::string, std::string>>;

const exposition_format text{};
const exposition_format openmetrics{exposition_format::syntax::openmetrics, "1.0.0", {}};

metric_point point(labels l, double value) {
  metric_point p;
  p.labels = std::move(l);
  p.value = value;
  return p;
}

metric_family family(std::string name, std::string unit, instrument_kind kind,
                     std::vector<metric_point> points = {}) {
  metric_family f;
  f.name = std::move(name);
  f.unit = std::move(unit);
  f.kind = kind;
  f.points = std::move(points);
  return f;
}

metric_family durations(std::vector<double> bounds, std::vector<std::uint64_t> buckets, double sum,
                        labels l = {}) {
  metric_family f = family("a.duration", "s", instrument_kind::histogram);
  f.bounds = std::move(bounds);
  metric_point& p = f.points.emplace_back();
  p.labels = std::move(l);
  histogram_data& h = p.histogram.emplace();
  h.count = std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  h.buckets = std::move(buckets);
  h.sum = sum;
  return f;
}

exposition exposed(const exposition_format& f, std::vector<metric_family> families,
                   std::size_t series_max = 1000) {
  metrics_snapshot s;
  s.families = std::move(families);
  return expose(s, {f, {{"service.name", "movies"}}, series_max});
}

// Without what describes the process.
std::string body(const exposition_format& f, std::vector<metric_family> families) {
  const std::string all = exposed(f, std::move(families)).text;
  const std::string_view last = "service_name=\"movies\"} 1\n";
  return all.substr(all.find(last) + last.size());
}

TEST(Exposition, TextHasTheSuffixOfCountersInTheNameOfTheFamily) {
  metric_family f = family("grpc.server.call.started", "{call}", instrument_kind::counter,
                           {point({{"grpc.method", "a.B/C"}}, 3)});
  f.description = "Calls.";
  EXPECT_EQ(exposed(text, {f}).text, R"(# TYPE target_info gauge
# HELP target_info Attributes of the process that is observed.
target_info{service_name="movies"} 1
# TYPE grpc_server_call_started_total counter
# HELP grpc_server_call_started_total Calls.
grpc_server_call_started_total{grpc_method="a.B/C"} 3
)");
}

TEST(Exposition, OpenMetricsHasItInTheSamplesAndEndsWithEof) {
  metric_family f = family("grpc.server.call.started", "{call}", instrument_kind::counter,
                           {point({{"grpc.method", "a.B/C"}}, 3)});
  f.description = "Calls.";
  EXPECT_EQ(exposed(openmetrics, {f}).text, R"(# TYPE target info
# HELP target Attributes of the process that is observed.
target_info{service_name="movies"} 1
# TYPE grpc_server_call_started counter
# HELP grpc_server_call_started Calls.
grpc_server_call_started_total{grpc_method="a.B/C"} 3
# EOF
)");
}

TEST(Exposition, BucketsAreCumulative) {
  EXPECT_EQ(body(text, {durations({0, 0.00001, 1, 1048576}, {1, 0, 2, 0, 4}, 5.5, {{"m", "x"}})}),
            R"(# TYPE a_duration_seconds histogram
a_duration_seconds_bucket{m="x",le="0"} 1
a_duration_seconds_bucket{m="x",le="1e-05"} 1
a_duration_seconds_bucket{m="x",le="1"} 3
a_duration_seconds_bucket{m="x",le="1.048576e+06"} 3
a_duration_seconds_bucket{m="x",le="+Inf"} 7
a_duration_seconds_sum{m="x"} 5.5
a_duration_seconds_count{m="x"} 7
)");
}

TEST(Exposition, BoundsOfOpenMetricsAreCanonicalAndTheUnitHasALine) {
  EXPECT_EQ(body(openmetrics, {durations({0, 0.00001, 1, 1048576}, {1, 0, 2, 0, 4}, 5.5)}),
            R"(# TYPE a_duration_seconds histogram
# UNIT a_duration_seconds seconds
a_duration_seconds_bucket{le="0.0"} 1
a_duration_seconds_bucket{le="1e-05"} 1
a_duration_seconds_bucket{le="1.0"} 3
a_duration_seconds_bucket{le="1.048576e+06"} 3
a_duration_seconds_bucket{le="+Inf"} 7
a_duration_seconds_sum 5.5
a_duration_seconds_count 7
# EOF
)");
}

TEST(Exposition, AHistogramWithNegativeBoundsHasNeitherSumNorCountInOpenMetrics) {
  const metric_family f = durations({-1, 1}, {1, 1, 0}, -3);
  EXPECT_THAT(body(openmetrics, {f}), Not(HasSubstr("_sum")));
  EXPECT_THAT(body(openmetrics, {f}), Not(HasSubstr("_count")));
  EXPECT_THAT(body(text, {f}), HasSubstr("a_duration_seconds_sum -3\n"));
}

TEST(Exposition, ABoundOfInfinityIsTheLastBucket) {
  EXPECT_THAT(body(text, {durations({1, std::numeric_limits<double>::infinity()}, {1, 2, 4}, 1)}),
              HasSubstr("le=\"1\"} 1\na_duration_seconds_bucket{le=\"+Inf\"} 7\n"));
}

TEST(Exposition, HostileLabelValuesAreEscapedAndMadeUtf8) {
  const std::string hostile = std::string("q\"b\\n\nr\r\xFF\xC3(\xED\xA0\x80z") + '\0' + "}";
  const std::string shown =
      body(text, {family("x", "1", instrument_kind::gauge, {point({{"l", hostile}}, 1)})});
  const std::string bad = "\xEF\xBF\xBD";
  const std::string escaped =
      "q\\\"b\\\\n\\nr\r" + bad + bad + "(" + bad + bad + bad + "z" + std::string(1, '\0') + "}";
  EXPECT_EQ(shown, "# TYPE x_ratio gauge\nx_ratio{l=\"" + escaped + "\"} 1\n");
}

TEST(Exposition, HelpIsEscapedAsEachFormatDoes) {
  metric_family f = family("x", "", instrument_kind::gauge, {point({}, 1)});
  f.description = "a \"b\" \\ c\nd";
  EXPECT_THAT(body(text, {f}), HasSubstr("# HELP x a \"b\" \\\\ c\\nd\n"));
  EXPECT_THAT(body(openmetrics, {f}), HasSubstr("# HELP x a \\\"b\\\" \\\\ c\\nd\n"));
}

TEST(Exposition, ValuesAreExact) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto shown = [](double v) {
    const std::string all = body(text, {family("x", "", instrument_kind::gauge, {point({}, v)})});
    return all.substr(all.find("x ", all.find('\n')) + 2);
  };
  EXPECT_EQ(shown(0.1), "0.1\n");
  EXPECT_EQ(shown(-5), "-5\n");
  EXPECT_EQ(shown(9007199254740992), "9007199254740992\n");
  EXPECT_EQ(std::stod(shown(1e300 / 3)), 1e300 / 3);
  EXPECT_EQ(shown(inf), "+Inf\n");
  EXPECT_EQ(shown(-inf), "-Inf\n");
  EXPECT_EQ(shown(std::numeric_limits<double>::quiet_NaN()), "NaN\n");
}

TEST(Exposition, AnEmptyLabelValueIsNoLabel) {
  EXPECT_EQ(body(text, {family("x", "", instrument_kind::gauge, {point({{"a", ""}, {"b", "c"}}, 1)})}),
            "# TYPE x gauge\nx{b=\"c\"} 1\n");
}

TEST(Exposition, ValuesOfKeysThatBecomeOneAreJoined) {
  EXPECT_EQ(body(text, {family("x", "", instrument_kind::gauge, {point({{"a.b", "1"}, {"a_b", "2"}}, 1)})}),
            "# TYPE x gauge\nx{a_b=\"1;2\"} 1\n");
}

TEST(Exposition, PointsThatBecomeOneAreLeftOutButForTheFirst) {
  const exposition e = exposed(text, {family("x", "", instrument_kind::gauge,
                                             {point({{"a", "\xFE"}}, 1), point({{"a", "\xFF"}}, 2)})});
  EXPECT_THAT(e.text, HasSubstr("\xEF\xBF\xBD\"} 1\n"));
  EXPECT_THAT(e.text, Not(HasSubstr("\"} 2\n")));
  EXPECT_THAT(e.left_out, ElementsAre("x"));
}

TEST(Exposition, InstrumentsWithOneNameAreOneBlock) {
  EXPECT_EQ(body(text, {family("a.b", "", instrument_kind::gauge, {point({{"l", "1"}}, 1)}),
                        family("a.z", "", instrument_kind::gauge, {point({}, 5)}),
                        family("a_b", "", instrument_kind::gauge, {point({{"l", "2"}}, 2)})}),
            "# TYPE a_b gauge\na_b{l=\"1\"} 1\na_b{l=\"2\"} 2\n# TYPE a_z gauge\na_z 5\n");
}

TEST(Exposition, InstrumentsWhoseNamesClashAreLeftOut) {
  const exposition e = exposed(text, {family("a", "", instrument_kind::counter, {point({}, 1)}),
                                      family("a.created", "", instrument_kind::gauge, {point({}, 2)}),
                                      family("a.total", "", instrument_kind::gauge, {point({}, 3)}),
                                      family("target", "", instrument_kind::gauge, {point({}, 4)}),
                                      family("a", "", instrument_kind::gauge, {point({}, 5)})});
  EXPECT_THAT(e.left_out, ElementsAre("a.created", "a.total", "target", "a"));
  EXPECT_THAT(e.text, HasSubstr("a_total 1\n"));
  EXPECT_THAT(e.text, Not(HasSubstr("a_created")));
}

TEST(Exposition, ACounterBelowZeroIsLeftOut) {
  const exposition e = exposed(text, {family("a", "", instrument_kind::counter, {point({}, -1)})});
  EXPECT_THAT(e.left_out, ElementsAre("a"));
  EXPECT_THAT(exposed(text, {family("a", "", instrument_kind::up_down_counter, {point({}, -1)})}).text,
              HasSubstr("# TYPE a gauge\na -1\n"));
}

TEST(Exposition, ExemplarsAreInOpenMetricsOnlyAndInTheirBuckets) {
  metric_family f = durations({0.5, 1}, {1, 1, 1}, 3);
  const auto example = [](double value) {
    metric_exemplar e;
    e.value = value;
    e.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1520879607789));
    e.trace.fill(0xAB);
    e.span.fill(0x01);
    return e;
  };
  f.points[0].exemplars = {example(0.25), example(7)};
  metric_family c = family("b", "", instrument_kind::counter, {point({}, 3)});
  c.points[0].exemplars = {example(1)};
  const std::string ids = " # {trace_id=\"abababababababababababababababab\",span_id=\"0101010101010101\"} ";
  const std::string shown = body(openmetrics, {f, c});
  EXPECT_THAT(shown, HasSubstr("_bucket{le=\"0.5\"} 1" + ids + "0.25 1520879607.789\n"));
  EXPECT_THAT(shown, HasSubstr("_bucket{le=\"1.0\"} 2\n"));
  EXPECT_THAT(shown, HasSubstr("_bucket{le=\"+Inf\"} 3" + ids + "7 1520879607.789\n"));
  EXPECT_THAT(shown, HasSubstr("b_total 3" + ids + "1 1520879607.789\n"));
  EXPECT_THAT(body(text, {f, c}), Not(HasSubstr("trace_id")));
}

TEST(Exposition, ExponentialHistogramsHaveBucketsOfFixedBounds) {
  metric_family f = durations({0, 0.5, 2}, {}, 3.5);
  exponential_histogram h;
  h.add(0);
  h.add(0.5);
  h.add(1);
  h.add(2);
  h.add(9);
  f.points[0].histogram->exponential = h.data();
  const std::string shown = body(text, {f});
  EXPECT_EQ(shown, R"(# TYPE a_duration_seconds histogram
a_duration_seconds_bucket{le="0"} 1
a_duration_seconds_bucket{le="0.5"} 2
a_duration_seconds_bucket{le="0.7071067811865476"} 2
a_duration_seconds_bucket{le="1"} 3
a_duration_seconds_bucket{le="1.4142135623730951"} 3
a_duration_seconds_bucket{le="2"} 4
a_duration_seconds_bucket{le="+Inf"} 5
a_duration_seconds_sum 3.5
a_duration_seconds_count 5
)");
}

TEST(Exposition, MoreSeriesThanTheLimitAreCountedAndNotWritten) {
  std::vector<metric_point> points;
  for (int i = 0; i < 100; ++i) points.push_back(point({{"i", std::to_string(i)}}, i));
  const std::vector<metric_family> families{family("x", "", instrument_kind::gauge, points),
                                            durations({1, 2}, {1, 1, 1}, 3)};
  const exposition e = exposed(text, families, 105);
  EXPECT_TRUE(e.too_large);
  EXPECT_EQ(e.series, 106U);  // target_info, 100, and 3 buckets with the sum and the count
  EXPECT_THAT(e.text, IsEmpty());
  EXPECT_FALSE(exposed(text, families, 106).too_large);
}

TEST(Exposition, TheSchemeOfDotsDoublesUnderscores) {
  exposition_format f = text;
  f.escaping = name_escaping::dots;
  EXPECT_THAT(exposed(f, {family("a.b", "{x}", instrument_kind::counter, {point({{"c.d", "e_f"}}, 1)})}).text,
              HasSubstr("# TYPE a__b__total counter\na__b__total{c__d=\"e_f\"} 1\n"));
}

}  // namespace
}  // namespace coracle::telemetry_internal::prometheus::exposition_test
