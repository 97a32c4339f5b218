#include "telemetry/traces/span_parts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::telemetry_internal::span_parts_test {
namespace {

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
  for (int i = 0; i < 200; ++i) set_attribute(s, "key " + std::to_string(i), std::int64_t{i});
  EXPECT_EQ(s.attributes.size(), span_limits::attributes_max);
  EXPECT_EQ(s.dropped_attributes, 200 - span_limits::attributes_max);
  set_attribute(s, "key 0", std::string("replaced"));
  EXPECT_EQ(*s.find("key 0"), attribute_value(std::string("replaced")));
  EXPECT_EQ(s.dropped_attributes, 200 - span_limits::attributes_max);
}

TEST(span_parts, ValuesAndKeysAreCut) {
  finished_span s;
  set_attribute(s, std::string(1000, 'k'), std::string(10000, 'v'));
  EXPECT_EQ(s.attributes.at(0).first.size(), span_limits::name_bytes_max);
  EXPECT_EQ(std::get<std::string>(s.attributes.at(0).second).size(), span_limits::value_bytes_max);
  set_attribute(s, "list", std::vector<std::string>(1000, std::string(10000, 'v')));
  const auto& list = std::get<std::vector<std::string>>(*s.find("list"));
  EXPECT_EQ(list.size(), span_limits::list_values_max);
  EXPECT_EQ(list.back().size(), span_limits::value_bytes_max);
  set_attribute(s, "bytes", std::string("\xff"));
  EXPECT_EQ(*s.find("bytes"), attribute_value(std::string("?")));
  set_error(s, std::string(5000, 'd'));
  EXPECT_EQ(s.description.size(), span_limits::description_bytes_max);
}

TEST(span_parts, EventsAndLinksBeyondTheLimitAreCounted) {
  finished_span s;
  const trace_context other =
      *trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  for (int i = 0; i < 200; ++i) {
    add_event(s, "event", s.start);
    add_link(s, other, false);
  }
  EXPECT_EQ(s.events.size(), span_limits::events_max);
  EXPECT_EQ(s.dropped_events, 200 - span_limits::events_max);
  EXPECT_EQ(s.links.size(), span_limits::links_max);
  EXPECT_EQ(s.dropped_links, 200 - span_limits::links_max);
  EXPECT_EQ(s.links.at(0).flags, 1);
}

TEST(span_parts, TimesOfEventsDoNotGoBackWhenTheClockIsSet) {
  finished_span s;
  s.start = std::chrono::system_clock::time_point(std::chrono::seconds(100));
  add_event(s, "a", s.start - std::chrono::seconds(1));
  add_event(s, "b", s.start + std::chrono::seconds(2));
  add_event(s, "c", s.start + std::chrono::seconds(1));
  EXPECT_EQ(s.events[0].time, s.start);
  EXPECT_EQ(s.events[2].time, s.events[1].time);
}

}  // namespace
}  // namespace coracle::telemetry_internal::span_parts_test
