#include "hpack/dynamic_table.hpp"

#include "unit/hpack/blocks.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

namespace coracle::hpack::dynamic_table_test {
namespace {

std::string name_at(const dynamic_table& t, std::uint32_t age) {
  return std::string(t.name(t.at(t.number_of(age))));
}
std::string value_at(const dynamic_table& t, std::uint32_t age) {
  return std::string(t.value(t.at(t.number_of(age))));
}

TEST(HpackDynamicTable, TheNewestEntryHasAgeZero) {
  dynamic_table t;
  t.insert("a", "1");
  t.insert("b", "2");
  EXPECT_EQ(name_at(t, 0), "b");
  EXPECT_EQ(value_at(t, 1), "1");
  EXPECT_EQ(t.size_bytes(), 2u * (2 + 32));
}

TEST(HpackDynamicTable, AnEntryOfExactlyTheWholeTableFits) {
  dynamic_table t(64);
  EXPECT_TRUE(t.insert("a", std::string(31, 'x')));
  EXPECT_EQ(t.size_bytes(), 64u);
}

TEST(HpackDynamicTable, ATooLargeEntryEmptiesTheTable) {
  dynamic_table t(64);
  t.insert("a", "1");
  EXPECT_FALSE(t.insert("a", std::string(32, 'x')));
  EXPECT_EQ(t.count(), 0u);
  EXPECT_EQ(t.size_bytes(), 0u);
}

TEST(HpackDynamicTable, TheOldestEntriesLeaveFirst) {
  dynamic_table t(3 * 34);
  for (const char* name : {"a", "b", "c", "d"}) t.insert(name, "1");
  EXPECT_EQ(t.count(), 3u);
  EXPECT_EQ(name_at(t, 2), "b");
  EXPECT_FALSE(t.alive(0));
  EXPECT_TRUE(t.alive(1));
  EXPECT_FALSE(t.alive(4));
}

TEST(HpackDynamicTable, ASmallerMaximumEvicts) {
  dynamic_table t;
  for (const char* name : {"a", "b", "c"}) t.insert(name, "1");
  t.set_max_bytes(2 * 34 + 1);
  EXPECT_EQ(t.count(), 2u);
  t.set_max_bytes(0);
  EXPECT_EQ(t.count(), 0u);
  EXPECT_EQ(t.capacity_bytes(), 0u);
  t.set_max_bytes(4096);
  EXPECT_TRUE(t.insert("again", "1"));
  EXPECT_EQ(name_at(t, 0), "again");
}

// RFC 7541 4.4: the name may refer to an entry that the insertion evicts.
TEST(HpackDynamicTable, ANameMayComeFromTheEntryThatIsEvicted) {
  dynamic_table t(80);
  t.insert("a-name-of-some-length", "old value, of 27 characters");
  const auto& e = t.at(t.number_of(0));
  EXPECT_TRUE(t.insert(t.name(e), "new value"));
  EXPECT_EQ(t.count(), 1u);
  EXPECT_EQ(name_at(t, 0), "a-name-of-some-length");
  EXPECT_EQ(value_at(t, 0), "new value");
}

TEST(HpackDynamicTable, MarksDieWithTheirEntry) {
  dynamic_table t(40);
  t.insert("a", "1");
  t.at(0).mark = 7;
  t.insert("a", "1");
  EXPECT_EQ(t.at(1).mark, 0u);
}

TEST(HpackDynamicTable, EmptyEntriesCountTheirOverhead) {
  dynamic_table t(128);
  for (int i = 0; i < 100; ++i) t.insert("", "");
  EXPECT_EQ(t.count(), 4u);
  EXPECT_EQ(t.size_bytes(), 128u);
}

// Against a deque: sizes from 0 on, names from live and evicted entries, changes of the maximum.
TEST(HpackDynamicTable, RandomUseKeepsEveryEntryIntact) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    testing::random_numbers random(seed);
    std::uint32_t max = 32 + random() % 2000;
    dynamic_table t(max);
    std::deque<std::pair<std::string, std::string>> model;
    std::uint64_t size = 0;
    const auto shrink = [&](std::uint64_t to) {
      for (; size > to; model.pop_back()) size -= model.back().first.size() + model.back().second.size() + 32;
    };
    for (int step = 0; step < 2000; ++step) {
      if (random() % 100 == 0) {
        max = random() % 4000;
        t.set_max_bytes(max);
        shrink(max);
      }
      std::string name(random() % 4 == 0 ? 0 : random() % (max / 2 + 1), static_cast<char>('a' + step % 26));
      const std::string value(random() % 3 == 0 ? 0 : random() % (max / 2 + 20),
                              static_cast<char>('A' + step % 26));
      std::string_view view = name;
      if (t.count() != 0 && random() % 2 == 0) {
        view = t.name(t.at(t.number_of(random() % t.count())));
        name = view;
      }
      const std::uint64_t cost = name.size() + value.size() + 32;
      shrink(cost > max ? 0 : max - cost);
      ASSERT_EQ(t.insert(view, value), cost <= max);
      if (cost <= max) {
        model.emplace_front(name, value);
        size += cost;
      }
      ASSERT_EQ(t.count(), model.size());
      ASSERT_EQ(t.size_bytes(), size);
      for (std::uint32_t i = 0; i < t.count(); ++i) {
        ASSERT_EQ(name_at(t, i), model[i].first);
        ASSERT_EQ(value_at(t, i), model[i].second);
      }
    }
  }
}

TEST(HpackDynamicTable, MemoryIsAtMostTwiceTheMaximumAndTheEntries) {
  dynamic_table t;
  testing::random_numbers random(5);
  for (int i = 0; i < 20000; ++i) t.insert("name", std::string(random() % 300, 'v'));
  EXPECT_LE(t.capacity_bytes(), 2u * 4096 + 128 * sizeof(dynamic_table::entry));
}

}  // namespace
}  // namespace coracle::hpack::dynamic_table_test
