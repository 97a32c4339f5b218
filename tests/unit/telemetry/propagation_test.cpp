#include "telemetry/traces/propagation.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::propagation_test {
namespace {

constexpr std::string_view trace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view span = "00f067aa0ba902b7";

using fields = std::vector<std::pair<std::string, std::string>>;

metadata metadata_of(const fields& all) {
  metadata m;
  for (const auto& [key, value] : all) m.add_received(key, value);
  return m;
}

// What extract() understands, as one text: the traceparent, then the tracestate, then b3's debug flag.
std::string extracted(propagator_set by, const fields& all) {
  const propagation p(by);
  const metadata m = metadata_of(all);
  const received_trace got = p.extract(m);
  EXPECT_TRUE(p.may_extract(m) || (!got.parent && !got.decision));
  if (!got.parent && !got.decision) return "nothing";
  if (!got.parent) return got.decision->debug ? "only debug" : got.decision->sampled ? "only 1" : "only 0";
  std::string text = got.parent->traceparent();
  if (!got.parent->state().empty()) text += " " + got.parent->state();
  if (got.parent->flags().debug) text += " debug";
  return text;
}

std::string parent(std::string_view flags) {
  return "00-" + std::string(trace) + "-" + std::string(span) + "-" + std::string(flags);
}

TEST(propagation, TraceparentIsReadByTheRulesOfW3c) {
  struct {
    std::string header;
    std::string expected;
  } const cases[] = {
      {parent("01"), parent("01")},
      {parent("00"), parent("00")},
      {parent("02"), parent("02")},
      {parent("03"), parent("03")},
      {parent("ff"), parent("03")},  // flags that are not defined are not passed on
      {"cc" + parent("01").substr(2), parent("01")},
      {"cc" + parent("01").substr(2) + "-more", parent("01")},
      {"cc" + parent("01").substr(2) + "more", "nothing"},
      {parent("01") + "-more", "nothing"},
      {"ff" + parent("01").substr(2), "nothing"},
      {parent("0"), "nothing"},
      {parent("0x"), "nothing"},
      {"00-" + std::string(32, '0') + "-" + std::string(span) + "-01", "nothing"},
      {"00-" + std::string(trace) + "-" + std::string(16, '0') + "-01", "nothing"},
      {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "nothing"},
      {"", "nothing"},
      {std::string(100000, '0'), "nothing"},
  };
  for (const auto& c : cases) EXPECT_EQ(extracted({}, {{"traceparent", c.header}}), c.expected) << c.header;
}

TEST(propagation, TracestateIsReadByTheRulesOfW3c) {
  std::string members;
  for (int i = 0; i < 40; ++i) members += (i ? "," : "") + std::string("k") + std::to_string(i) + "=v";
  std::string first_32 = members.substr(0, members.find(",k32="));
  const std::string big(256, 'v');
  const std::string three_big = "a=" + big + ",b=" + big + ",c=" + big;
  struct {
    std::vector<std::string> headers;
    std::string expected;
  } const cases[] = {
      {{"a=1"}, "a=1"},
      {{"a=1,b=2", "c=3"}, "a=1,b=2,c=3"},
      {{" a=1 ,\tb=2 ,, "}, "a=1,b=2"},
      {{"tenant@vendor=x,0a_-*/=y"}, "tenant@vendor=x,0a_-*/=y"},
      {{members}, first_32},
      {{three_big}, "a=" + big},
      {{"A=1"}, ""},
      {{"a=1,b"}, ""},
      {{"a="}, ""},
      {{"=1"}, ""},
      {{"a=x=y"}, ""},
      {{std::string("a=\x01")}, ""},
      {{std::string(257, 'a') + "=1"}, ""},
      {{"a=" + std::string(257, 'v')}, ""},
      {{std::string(1u << 20, 'a')}, ""},
  };
  for (const auto& c : cases) {
    fields all{{"traceparent", parent("01")}};
    for (const std::string& h : c.headers) all.emplace_back("tracestate", h);
    EXPECT_EQ(extracted({}, all), parent("01") + (c.expected.empty() ? "" : " " + c.expected))
        << c.headers.front().substr(0, 80);
  }
  EXPECT_EQ(extracted({}, {{"traceparent", "bad"}, {"tracestate", "a=1"}}), "nothing");
}

TEST(propagation, B3IsReadInBothForms) {
  const std::string t(trace);
  const std::string s(span);
  const std::string short_trace = "a3ce929d0e0e4736";
  const auto with = [&](std::string_view flags, std::string_view end = "") {
    return parent(flags) + std::string(end);
  };
  struct {
    fields headers;
    std::string expected;
  } const cases[] = {
      {{{"b3", t + "-" + s + "-1"}}, with("01")},
      {{{"b3", t + "-" + s + "-0"}}, with("00")},
      {{{"b3", t + "-" + s + "-d"}}, with("01", " debug")},
      {{{"b3", t + "-" + s}}, with("00")},
      {{{"b3", t + "-" + s + "-1-0000000000000001"}}, with("01")},
      {{{"b3", short_trace + "-" + s + "-1"}}, "00-0000000000000000" + short_trace + "-" + s + "-01"},
      {{{"b3", "0"}}, "only 0"},
      {{{"b3", "1"}}, "only 1"},
      {{{"b3", "d"}}, "only debug"},
      {{{"b3", "2"}}, "nothing"},
      {{{"b3", t + "-" + s + "-x"}}, "nothing"},
      {{{"b3", t + "-" + s + "-1-x"}}, "nothing"},
      {{{"b3", t + "-" + s + "-1-0000000000000001-1"}}, "nothing"},
      {{{"b3", t}}, "nothing"},
      {{{"b3", std::string(32, '0') + "-" + s + "-1"}}, "nothing"},
      {{{"b3", std::string(1u << 20, '-')}}, "nothing"},
      {{{"x-b3-traceid", t}, {"x-b3-spanid", s}, {"x-b3-sampled", "1"}}, with("01")},
      {{{"x-b3-traceid", t}, {"x-b3-spanid", s}, {"x-b3-parentspanid", s}, {"x-b3-sampled", "0"}},
       with("00")},
      {{{"x-b3-traceid", t}, {"x-b3-spanid", s}, {"x-b3-flags", "1"}}, with("01", " debug")},
      {{{"x-b3-sampled", "0"}}, "only 0"},
      {{{"x-b3-flags", "1"}}, "only debug"},
      {{{"x-b3-traceid", "zz"}, {"x-b3-spanid", s}}, "nothing"},
      {{{"b3", "bad"}, {"x-b3-traceid", t}, {"x-b3-spanid", s}, {"x-b3-sampled", "1"}}, with("01")},
      {{{"b3", t + "-" + s + "-1"}, {"x-b3-traceid", short_trace}, {"x-b3-spanid", s}}, with("01")},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(extracted({.w3c = false, .b3 = true}, c.headers), c.expected) << c.headers.front().second;
    EXPECT_EQ(extracted({}, c.headers), "nothing") << "b3 was not asked for";
  }
}

TEST(propagation, TheFirstValidFormWins) {
  const std::string binary = trace_context::parse(parent("01"))->binary();
  EXPECT_EQ(extracted({}, {{"grpc-trace-bin", binary}}), parent("01"));
  EXPECT_EQ(extracted({}, {{"grpc-trace-bin", binary}, {"traceparent", parent("00")}}), parent("00"));
  EXPECT_EQ(extracted({}, {{"grpc-trace-bin", binary}, {"traceparent", "bad"}}), parent("01"));
  EXPECT_EQ(extracted({}, {{"grpc-trace-bin", binary + "x"}}), "nothing");
  EXPECT_EQ(extracted({.w3c = false}, {{"traceparent", parent("01")}, {"grpc-trace-bin", binary}}),
            "nothing");
}

TEST(propagation, ASpanIsWrittenInTheFormsThatWereChosen) {
  const trace_context sampled = *trace_context::parse(parent("03"), "a=1");
  const trace_context debug(sampled.trace(), sampled.span(), trace_flags{.sampled = true, .debug = true});
  const auto written = [](propagator_set by, const trace_context& c, bool binary = false) {
    metadata to;
    propagation(by).inject(c, binary, to);
    fields all;
    for (const auto field : to) all.emplace_back(field.name, field.value);
    return all;
  };
  const std::string ids = std::string(trace) + "-" + std::string(span);
  EXPECT_EQ(written({}, sampled), (fields{{"traceparent", parent("03")}, {"tracestate", "a=1"}}));
  EXPECT_EQ(written({.w3c = false, .b3 = true}, sampled), (fields{{"b3", ids + "-1"}}));
  EXPECT_EQ(written({.w3c = false, .b3 = true}, debug), (fields{{"b3", ids + "-d"}}));
  EXPECT_EQ(written({.w3c = false, .b3_multi = true}, sampled), (fields{{"x-b3-traceid", std::string(trace)},
                                                                        {"x-b3-spanid", std::string(span)},
                                                                        {"x-b3-sampled", "1"}}));
  EXPECT_EQ(written({.w3c = false, .b3_multi = true}, debug).back().first, "x-b3-flags");
  EXPECT_EQ(written({.w3c = false, .grpc_trace_bin = true}, sampled),
            (fields{{"grpc-trace-bin", sampled.binary()}}));
  EXPECT_EQ(written({}, sampled, true).back().first, "grpc-trace-bin");
}

TEST(propagation, TheOwnMemberOfATracestateMovesToTheLeft) {
  EXPECT_EQ(with_own_member("a=1,b=2", "th:8"), "ot=th:8,a=1,b=2");
  EXPECT_EQ(with_own_member("a=1,ot=th:4,b=2", "th:8"), "ot=th:8,a=1,b=2");
  EXPECT_EQ(with_own_member("ot=th:4", ""), "");
  EXPECT_EQ(own_member("a=1,ot=th:4;rv:1,b=2"), "th:4;rv:1");
  EXPECT_EQ(own_member("a=1"), "");
  const std::string full = "a=" + std::string(510, 'v');
  EXPECT_EQ(with_own_member(full, "th:8"), "ot=th:8");  // whole members are left out
}

TEST(propagation, VariablesNameTheForms) {
  const auto set = propagator_set::parse("tracecontext, baggage,b3");
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->w3c && set->b3 && !set->b3_multi && !set->grpc_trace_bin);
  const auto none = propagator_set::parse("none");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->w3c || none->b3 || none->b3_multi || none->grpc_trace_bin);
  EXPECT_TRUE(propagator_set::parse("b3multi,grpc-trace-bin")->b3_multi);
  const auto bad = propagator_set::parse("tracecontext,jaeger");
  EXPECT_EQ(bad.status().code(), status_code::invalid_argument);
  EXPECT_NE(bad.status().message().find("jaeger"), std::string::npos);
}

}  // namespace
}  // namespace coracle::telemetry_internal::propagation_test
