#include "telemetry/otlp/encode_metrics.hpp"

#include "telemetry/otlp/wire.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

namespace coracle::telemetry_internal::otlp_metrics_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const wall_time begin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

metric_family family(std::string name, instrument_kind k = instrument_kind::counter) {
  metric_family f;
  f.name = std::move(name);
  f.kind = k;
  return f;
}
metric_point point(double value, std::string label = {}) {
  metric_point p;
  p.start = begin;
  p.value = value;
  if (!label.empty()) p.labels = {{"key", std::move(label)}};
  return p;
}
metric_point histogram(std::vector<std::uint64_t> counts, double sum) {
  metric_point p = point(0);
  p.histogram.emplace();
  for (const std::uint64_t n : counts) p.histogram->count += n;
  p.histogram->sum = sum;
  p.histogram->buckets = std::move(counts);
  return p;
}
metrics_snapshot snapshot(metric_family f) {
  metrics_snapshot s;
  s.time = begin + 10s;
  s.families.push_back(std::move(f));
  return s;
}

TEST(delta_baseline, ADifferenceBeginsAtTheLastDelivery) {
  const metric_family f = family("calls");
  delta_baseline b;
  EXPECT_EQ(b.since(f, point(5))->value, 5);
  EXPECT_EQ(b.since(f, point(5))->start, begin);
  b.delivered(f, point(5), begin + 1s);
  EXPECT_FALSE(b.since(f, point(5)));
  const auto d = b.since(f, point(7));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->value, 2);
  EXPECT_EQ(d->start, begin + 1s);
  // Not delivered: it is part of the next difference.
  EXPECT_EQ(b.since(f, point(9))->value, 4);
  // Another series.
  EXPECT_EQ(b.since(f, point(3, "x"))->value, 3);
}

TEST(delta_baseline, ATotalThatHasBecomeSmallerBeginsAnew) {
  const metric_family f = family("calls");
  delta_baseline b;
  b.delivered(f, point(5), begin + 1s);
  EXPECT_EQ(b.since(f, point(2))->value, 2);
  EXPECT_EQ(b.since(f, point(2))->start, begin);
}

TEST(delta_baseline, HistogramsAreSubtractedByBucket) {
  const metric_family f = family("time", instrument_kind::histogram);
  delta_baseline b;
  b.delivered(f, histogram({1, 2, 0}, 5), begin + 1s);
  const auto d = b.since(f, histogram({1, 4, 1}, 9));
  ASSERT_TRUE(d && d->histogram);
  EXPECT_THAT(d->histogram->buckets, ElementsAre(0, 2, 1));
  EXPECT_EQ(d->histogram->count, 3U);
  EXPECT_EQ(d->histogram->sum, 4);
  EXPECT_FALSE(b.since(f, histogram({1, 2, 0}, 5)));
}

TEST(delta_baseline, ExponentialHistogramsOfDifferentScalesAreSubtracted) {
  const metric_family f = family("time", instrument_kind::histogram);
  const auto exponential = [](std::int32_t scale, std::int32_t offset, std::vector<std::uint64_t> counts) {
    metric_point p = histogram({}, 0);
    for (const std::uint64_t n : counts) p.histogram->count += n;
    p.histogram->exponential.emplace();
    p.histogram->exponential->scale = scale;
    p.histogram->exponential->offset = offset;
    p.histogram->exponential->counts = std::move(counts);
    return p;
  };
  delta_baseline b;
  // Scale 1: buckets -3 to 0. At scale 0 these are -2 (from -3), -1 (from -2 and -1), 0.
  b.delivered(f, exponential(1, -3, {1, 2, 3, 4}), begin + 1s);
  const auto d = b.since(f, exponential(0, -2, {1, 6, 4, 7}));
  ASSERT_TRUE(d && d->histogram && d->histogram->exponential);
  EXPECT_EQ(d->histogram->count, 8U);
  EXPECT_EQ(d->histogram->exponential->offset, -2);
  EXPECT_THAT(d->histogram->exponential->counts, ElementsAre(0, 1, 0, 7));
}

TEST(aggregation_of, ThePreferenceDecidesByTheKindOfInstrument) {
  using enum otlp_temporality;
  const auto of = [](instrument_kind k, bool observed, otlp_temporality t) {
    metric_family f = family("x", k);
    f.observed = observed;
    return aggregation_of(f, t);
  };
  for (const auto t : {cumulative, delta, lowmemory}) {
    EXPECT_EQ(of(instrument_kind::gauge, true, t), aggregation::none);
    EXPECT_EQ(of(instrument_kind::up_down_counter, false, t), aggregation::cumulative);
    EXPECT_EQ(of(instrument_kind::histogram, false, t),
              t == cumulative ? aggregation::cumulative : aggregation::delta);
    EXPECT_EQ(of(instrument_kind::counter, false, t),
              t == cumulative ? aggregation::cumulative : aggregation::delta);
    EXPECT_EQ(of(instrument_kind::counter, true, t),
              t == delta ? aggregation::delta : aggregation::cumulative);
  }
}

TEST(encode_metrics, RequestsHoldAsManyPointsAsFit) {
  metric_family f = family("calls");
  f.description = "Calls of a kind.";
  constexpr std::size_t points = 1000;
  for (std::size_t i = 0; i < points; ++i) f.points.push_back(point(1, "value " + std::to_string(i)));
  const metrics_snapshot s = snapshot(std::move(f));
  const delta_baseline none;
  const std::string resource = encode_resource({{"service.name", "movies"}});
  const auto all = encode_metrics(s, otlp_temporality::cumulative, none, resource, 4096);
  EXPECT_GT(all.requests.size(), 5U);
  EXPECT_EQ(all.points.size(), points);
  std::size_t items = 0;
  for (const export_request& r : all.requests) {
    EXPECT_LE(r.body.size(), 4096U);
    EXPECT_EQ(r.first, items);
    items += r.items;
    EXPECT_THAT(r.body, HasSubstr("Calls of a kind."));
    EXPECT_THAT(r.body, HasSubstr("movies"));
  }
  EXPECT_EQ(items, points);
  EXPECT_GT(all.requests.front().body.size(), 3900U);
  EXPECT_EQ(encode_metrics(s, otlp_temporality::cumulative, none, resource, 1 << 20).requests.size(), 1U);
}

TEST(encode_metrics, APointThatFitsIntoNoRequestIsLeftOutAndCounted) {
  metric_family f = family("calls");
  f.points = {point(1, "small"), point(1, std::string(5000, 'x')), point(1, "also small")};
  const metrics_snapshot s = snapshot(std::move(f));
  const auto all = encode_metrics(s, otlp_temporality::cumulative, {}, "", 1000);
  EXPECT_EQ(all.too_large, 1U);
  ASSERT_EQ(all.points.size(), 2U);
  EXPECT_EQ(all.points[1].total, &s.families[0].points[2]);
}

TEST(encode_metrics, TextThatIsNotUtf8IsReplaced) {
  metric_family f = family("calls");
  f.points = {point(1,
                    "a\xff\xfe"
                    "b\xc3")};
  const auto all = encode_metrics(snapshot(f), otlp_temporality::cumulative, {}, "", 1000);
  EXPECT_THAT(all.requests.at(0).body, HasSubstr("a\xef\xbf\xbd\xef\xbf\xbd"
                                                 "b\xef\xbf\xbd"));
}

TEST(wire, SignedNumbersAreZigzagEncoded) {
  std::string s;
  put_sint32(s, 1, -1);
  put_sint32(s, 1, 1);
  put_sint32(s, 1, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(s, "\x08\x01\x08\x02\x08\xff\xff\xff\xff\x0f");
}

}  // namespace
}  // namespace coracle::telemetry_internal::otlp_metrics_test
