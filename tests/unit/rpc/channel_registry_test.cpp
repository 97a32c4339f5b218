#include "rpc/channel_registry.hpp"

#include "base/printable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::rpc::channel_registry_test {
namespace {

using std::chrono::seconds;

TEST(EventTrace, KeepsTheLatestInTheirOrder) {
  event_trace t(wall_time(seconds(1)));
  EXPECT_TRUE(t.latest().empty());
  const int added = static_cast<int>(event_trace::events_max) + 3;
  for (int i = 0; i < added; ++i) t.add(wall_time(seconds(i)), std::to_string(i));
  const auto kept = t.latest();
  ASSERT_EQ(kept.size(), event_trace::events_max);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].description, std::to_string(i + 3));
  EXPECT_EQ(kept.back().time, wall_time(seconds(added - 1)));
  EXPECT_EQ(t.added(), static_cast<std::uint64_t>(added));
  EXPECT_EQ(t.made(), wall_time(seconds(1)));
}

TEST(EventTrace, TakesNoMoreOfAServersWordsThanCanBeShown) {
  event_trace t;
  t.add({}, "bye\n\xff\x01!", traced_event::severity::warning, 7);
  t.add({}, std::string(10'000, 'x'));
  const auto kept = t.latest();
  EXPECT_EQ(kept[0].description, "bye" + std::string(3, '?') + "!");
  EXPECT_EQ(kept[0].level, traced_event::severity::warning);
  EXPECT_EQ(kept[0].subchannel, 7u);
  EXPECT_EQ(kept[1].description, std::string(base::printable_bytes_max, 'x') + "...");
}

}  // namespace
}  // namespace coracle::rpc::channel_registry_test
