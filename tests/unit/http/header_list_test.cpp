#include "coracle/http/header_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace coracle::http::header_list_test {
namespace {

static_assert(std::random_access_iterator<header_list::iterator>);

header_list example() {
  header_list list;
  list.add("a", "1");
  list.add("b", "two");
  list.add("a", "3");
  list.add("empty", "");
  return list;
}

TEST(HeaderList, KeepsOrderAndRepeatedNames) {
  const header_list list = example();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0], (header_view{"a", "1"}));
  EXPECT_EQ(list[1], (header_view{"b", "two"}));
  EXPECT_EQ(list[2], (header_view{"a", "3"}));
  EXPECT_EQ(list[3], (header_view{"empty", ""}));
}

TEST(HeaderList, FindsTheFirstAndTheLastByName) {
  const header_list list = example();
  EXPECT_EQ(list.find("a"), "1");
  EXPECT_EQ(list.find_last("a"), "3");
  EXPECT_EQ(list.find("empty"), "");
  EXPECT_EQ(list.find("A"), std::nullopt);
  EXPECT_EQ(list.find_last("c"), std::nullopt);
  EXPECT_EQ(list.count("a"), 2u);
  EXPECT_EQ(list.count("c"), 0u);
  EXPECT_TRUE(list.contains("b"));
}

TEST(HeaderList, IsIteratedInOrder) {
  const header_list list = example();
  std::string all;
  for (const auto [name, value] : list) all += std::string(name) + "=" + std::string(value) + ";";
  EXPECT_EQ(all, "a=1;b=two;a=3;empty=;");
  EXPECT_EQ(list.begin()->name, "a");
  EXPECT_EQ(list.end() - list.begin(), 4);
  EXPECT_EQ(list.begin()[1].value, "two");
  EXPECT_EQ((*std::prev(list.end())).name, "empty");
}

// As over a std::map.
TEST(HeaderList, IsIteratedByEveryFormOfAStructuredBinding) {
  header_list list = example();
  std::string all;
  for (auto [name, value] : list) all.append(name).append(value);
  for (auto& [name, value] : list) all.append(name).append(value);
  for (const auto& [name, value] : list) all.append(name).append(value);
  for (auto&& [name, value] : list) all.append(name).append(value);
  EXPECT_EQ(all,
            "a1btwoa3empty"
            "a1btwoa3empty"
            "a1btwoa3empty"
            "a1btwoa3empty");
}

TEST(HeaderList, IteratorsCountLikePointers) {
  const header_list list = example();
  auto i = list.begin();
  EXPECT_EQ((i++)->name, "a");
  EXPECT_EQ((++i)->value, "3");
  EXPECT_EQ((i--)->value, "3");
  EXPECT_EQ((--i)->value, "1");
  EXPECT_EQ((i + 3)->name, "empty");
  EXPECT_EQ((2 + i)->value, "3");
  EXPECT_EQ((list.end() - 1)->name, "empty");
  EXPECT_LT(i, list.end());
  EXPECT_TRUE(std::ranges::equal(list, example()));
}

TEST(HeaderList, SizeCountsThirtyTwoBytesAField) {
  header_list list;
  EXPECT_EQ(list.list_size_bytes(), 0u);
  list.add("ab", "cde");
  EXPECT_EQ(list.list_size_bytes(), 37u);
  list.add("", "");
  EXPECT_EQ(list.list_size_bytes(), 69u);
  list.clear();
  EXPECT_EQ(list.list_size_bytes(), 0u);
}

TEST(HeaderList, AClearedListKeepsItsMemory) {
  header_list list;
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) list.add("name", std::string(static_cast<std::size_t>(i), 'v'));
  };
  fill();
  const std::size_t before = list.capacity_bytes();
  for (int round = 0; round < 10; ++round) {
    list.clear();
    EXPECT_TRUE(list.empty());
    fill();
  }
  EXPECT_EQ(list.capacity_bytes(), before);
  EXPECT_EQ(list[99].value, std::string(99, 'v'));
}

TEST(HeaderList, ReleaseFreesOnlyWhatIsTooMuch) {
  header_list list = example();
  list.release(1 << 20);
  EXPECT_TRUE(list.empty());
  EXPECT_GT(list.capacity_bytes(), 0u);
  list.release();
  EXPECT_EQ(list.capacity_bytes(), 0u);
  list.add("a", "1");
  EXPECT_EQ(list.find("a"), "1");
}

TEST(HeaderList, MayAddItsOwnFieldsWhileItGrows) {
  header_list list;
  list.add("name", "value");
  for (int i = 0; i < 1000; ++i) list.add(list[list.size() - 1].name, list[0].value);
  for (const header_view field : list) EXPECT_EQ(field, (header_view{"name", "value"}));
}

TEST(HeaderList, CopiesAreIndependent) {
  header_list a = example();
  header_list b = a;
  EXPECT_EQ(a, b);
  b.add("more", "1");
  EXPECT_EQ(a.size(), 4u);
  EXPECT_FALSE(a == b);
  a = b;
  EXPECT_EQ(a, b);
  const header_list& same = a;
  a = same;
  EXPECT_EQ(a, b);
  header_list none;
  header_list copy = none;
  EXPECT_TRUE(copy.empty());
  a = none;
  EXPECT_TRUE(a.empty());
}

TEST(HeaderList, AMovedFromListIsEmptyAndUsable) {
  header_list a = example();
  header_list b = std::move(a);
  EXPECT_EQ(b, example());
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(a.list_size_bytes(), 0u);
  a.add("x", "y");
  EXPECT_EQ(a.find("x"), "y");
  a = std::move(b);
  EXPECT_EQ(a, example());
  EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(HeaderList, FourGibibytesAreTooMuch) {
  header_list list;
  EXPECT_THROW(list.reserve(0, std::size_t{1} << 32), std::length_error);
  EXPECT_THROW(list.add("a", std::string_view(nullptr, std::size_t{1} << 32)), std::length_error);
  EXPECT_TRUE(list.empty());
}

TEST(HeaderList, ReservedRoomIsEnough) {
  header_list list;
  list.reserve(10, 1000);
  const std::size_t before = list.capacity_bytes();
  for (int i = 0; i < 10; ++i) list.add(std::string(50, 'n'), std::string(50, 'v'));
  EXPECT_EQ(list.capacity_bytes(), before);
}

}  // namespace
}  // namespace coracle::http::header_list_test
