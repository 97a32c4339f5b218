#include "telemetry/traces/span_parts.hpp"

#include "support/kept_log.hpp"
#include "telemetry/traces/trace_rules.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace coracle::telemetry_internal::span_parts_test {
namespace {

using testing_support::kept_log;

TEST(span_parts, TextsAreCutBetweenCharactersAndAreUtf8) {
  EXPECT_EQ(bounded_text("abc", 3), "abc");
  EXPECT_EQ(bounded_text("abcd", 3), "abc");
  EXPECT_EQ(bounded_text("ab\xc3\xbc", 3), "ab");
  EXPECT_EQ(bounded_text("a\xff\xfe"
                         "b",
                         10),
            "a??b");
  EXPECT_EQ(bounded_text(std::string("\xc3"), 10), "?");
  EXPECT_EQ(bounded_text("", 3), "");
  EXPECT_EQ(bounded_text("\x80\x80\x80\x80", 2), "");
}

TEST(span_parts, AttributesBeyondTheLimitAreCounted) {
  finished_span s;
  for (int i = 0; i < 200; ++i) set_attribute(s, "key " + std::to_string(i), std::int64_t{i}, {});
  EXPECT_EQ(s.attributes.size(), span_limits::attributes_max);
  EXPECT_EQ(s.dropped_attributes, 200 - span_limits::attributes_max);
  set_attribute(s, "key 0", std::string("replaced"), {});
  EXPECT_EQ(*s.find("key 0"), attribute_value(std::string("replaced")));
  EXPECT_EQ(s.dropped_attributes, 200 - span_limits::attributes_max);
}

TEST(span_parts, ValuesAndKeysAreCut) {
  finished_span s;
  set_attribute(s, std::string(1000, 'k'), std::string(10000, 'v'), {});
  EXPECT_EQ(s.attributes.at(0).first.size(), span_limits::name_bytes_max);
  EXPECT_EQ(std::get<std::string>(s.attributes.at(0).second).size(), span_limits::value_bytes_max);
  set_attribute(s, "list", std::vector<std::string>(1000, std::string(10000, 'v')), {});
  const auto& list = std::get<std::vector<std::string>>(*s.find("list"));
  EXPECT_EQ(list.size(), span_limits::list_values_max);
  EXPECT_EQ(list.back().size(), span_limits::value_bytes_max);
  set_attribute(s, "bytes", std::string("\xff"), {});
  EXPECT_EQ(*s.find("bytes"), attribute_value(std::string("?")));
  set_error(s, std::string(5000, 'd'));
  EXPECT_EQ(s.description.size(), span_limits::description_bytes_max);
}

TEST(span_parts, EventsAndLinksBeyondTheLimitAreCounted) {
  finished_span s;
  const trace_context other =
      *trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  for (int i = 0; i < 200; ++i) {
    add_event(s, "event", s.start, {});
    add_link(s, other, false, {});
  }
  EXPECT_EQ(s.events.size(), span_limits::events_max);
  EXPECT_EQ(s.dropped_events, 200 - span_limits::events_max);
  EXPECT_EQ(s.links.size(), span_limits::links_max);
  EXPECT_EQ(s.dropped_links, 200 - span_limits::links_max);
  EXPECT_EQ(s.links.at(0).flags, 1);
}

TEST(span_parts, AProgramChoosesTheLimits) {
  span_limits few;
  few.attributes = 2;
  few.events = 1;
  few.links = 0;
  few.value_bytes = 3;
  finished_span s;
  for (const char* key : {"a", "b", "c"}) set_attribute(s, key, std::string("value"), few);
  EXPECT_EQ(s.attributes.size(), 2U);
  EXPECT_EQ(s.dropped_attributes, 1U);
  EXPECT_EQ(*s.find("a"), attribute_value(std::string("val")));
  ASSERT_TRUE(add_event(s, "first", s.start, few));
  EXPECT_FALSE(add_event(s, "second", s.start, few));
  EXPECT_EQ(s.dropped_events, 1U);
  EXPECT_FALSE(add_link(s, *trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
                        false, few));
  EXPECT_EQ(s.dropped_links, 1U);
}

TEST(span_parts, TheEnvironmentHasTheLimits) {
  kept_log log;
  std::map<std::string, std::string> all;
  const auto read = [&] {
    return span_limits_of([&](const char* name) { return all.contains(name) ? all[name].c_str() : nullptr; },
                          log);
  };
  EXPECT_EQ(read().attributes, span_limits::attributes_max);
  EXPECT_EQ(read().value_bytes, span_limits::value_bytes_max);
  all = {{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1"},
         {"OTEL_SPAN_EVENT_COUNT_LIMIT", "0"},
         {"OTEL_SPAN_LINK_COUNT_LIMIT", "3"},
         {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "100000"}};
  EXPECT_EQ(read().attributes, 1U);
  EXPECT_EQ(read().events, 0U);
  EXPECT_EQ(read().links, 3U);
  EXPECT_EQ(read().value_bytes, 100000U);
  EXPECT_EQ(log.text(), "");
  all["OTEL_SPAN_EVENT_COUNT_LIMIT"] = "many";
  all["OTEL_SPAN_LINK_COUNT_LIMIT"] = "-1";
  all["OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"] = "";
  EXPECT_EQ(read().attributes, span_limits::attributes_max);
  EXPECT_EQ(read().events, span_limits::events_max);
  EXPECT_EQ(read().links, span_limits::links_max);
  EXPECT_NE(log.text().find("OTEL_SPAN_EVENT_COUNT_LIMIT"), std::string::npos);
  EXPECT_NE(log.text().find("OTEL_SPAN_LINK_COUNT_LIMIT"), std::string::npos);
}

TEST(span_parts, TimesOfEventsDoNotGoBackWhenTheClockIsSet) {
  finished_span s;
  s.start = std::chrono::system_clock::time_point(std::chrono::seconds(100));
  add_event(s, "a", s.start - std::chrono::seconds(1), {});
  add_event(s, "b", s.start + std::chrono::seconds(2), {});
  add_event(s, "c", s.start + std::chrono::seconds(1), {});
  EXPECT_EQ(s.events[0].time, s.start);
  EXPECT_EQ(s.events[2].time, s.events[1].time);
}

}  // namespace
}  // namespace coracle::telemetry_internal::span_parts_test
