#include "coracle/coro/generator.hpp"

#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace coracle::generator_test {
namespace {

static_assert(std::input_iterator<generator<int>::iterator>);
static_assert(std::ranges::input_range<generator<int>>);
static_assert(std::ranges::input_range<generator<const std::string&>>);

generator<int> count(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}
generator<int> fails_after(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
  throw std::runtime_error("its own");
}

struct leaves_a_mark {
  explicit leaves_a_mark(bool& m) : mark(m) {}
  leaves_a_mark(const leaves_a_mark&) = delete;
  leaves_a_mark& operator=(const leaves_a_mark&) = delete;
  ~leaves_a_mark() { mark = true; }
  bool& mark;
};
generator<std::string> forever(bool& unwound) {
  const leaves_a_mark mark(unwound);
  for (;;) co_yield std::string("a text that is too long to be kept in place");
}

TEST(Generator, GivesItsValuesToALoop) {
  std::vector<int> got;
  for (int i : count(4)) got.push_back(i);
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Generator, IsLazy) {
  bool ran = false;
  auto body = [](bool& r) -> generator<int> {
    r = true;
    co_yield 1;
  };
  auto g = body(ran);
  EXPECT_FALSE(ran);
  auto at = g.begin();
  EXPECT_TRUE(ran);
  EXPECT_EQ(*at, 1);
}

TEST(Generator, MayBeEmpty) {
  for (int i : count(0)) FAIL() << i;
  for (int i : generator<int>()) FAIL() << i;
}

TEST(Generator, UnwindsItsBodyWhenItIsDestroyedEarly) {
  bool unwound = false;
  {
    auto g = forever(unwound);
    int seen = 0;
    for (const auto& text : g) {
      EXPECT_EQ(text.size(), 43U);
      if (++seen == 3) break;
    }
    EXPECT_FALSE(unwound);
  }
  EXPECT_TRUE(unwound);
}

TEST(Generator, NeverEntersItsBodyWhenNobodyLooks) {
  bool unwound = false;
  {
    auto g = forever(unwound);
  }
  EXPECT_FALSE(unwound);
}

TEST(Generator, AnExceptionComesOutOfTheLoopAndEndsIt) {
  auto g = fails_after(2);
  int seen = 0;
  EXPECT_THROW(
      {
        for (int i : g) {
          EXPECT_EQ(i, seen);
          ++seen;
        }
      },
      std::runtime_error);
  EXPECT_EQ(seen, 2);
}

TEST(Generator, AnExceptionBeforeTheFirstValueComesOutOfBegin) {
  auto g = fails_after(0);
  EXPECT_THROW((void)g.begin(), std::runtime_error);
}

TEST(Generator, CopiesAnLvalueSoThatTheLoopMayChangeItsElement) {
  auto body = [](std::string& kept) -> generator<std::string> {
    co_yield kept;
    co_yield std::as_const(kept);
    co_yield "a literal";
  };
  std::string kept = "kept";
  std::vector<std::string> got;
  auto g = body(kept);
  for (auto& s : g) got.push_back(std::move(s));
  EXPECT_EQ(got, (std::vector<std::string>{"kept", "kept", "a literal"}));
  EXPECT_EQ(kept, "kept");
}

TEST(Generator, OfAReferenceGivesTheThingItself) {
  auto body = [](std::vector<int>& all) -> generator<int&> {
    for (int& i : all) co_yield i;
  };
  std::vector<int> all{1, 2, 3};
  auto g = body(all);
  for (int& i : g) i *= 10;
  EXPECT_EQ(all, (std::vector<int>{10, 20, 30}));
  auto look = [](const std::vector<int>& in) -> generator<const int&> {
    for (const int& i : in) co_yield i;
  };
  auto seen = look(all);
  EXPECT_EQ(&*seen.begin(), &all[0]);
}

TEST(Generator, CarriesValuesThatOnlyMove) {
  auto body = []() -> generator<std::unique_ptr<int>> {
    for (int i = 0; i < 3; ++i) co_yield std::make_unique<int>(i);
  };
  int sum = 0;
  auto g = body();
  for (auto& p : g) {
    const std::unique_ptr<int> mine = std::move(p);
    sum += *mine;
  }
  EXPECT_EQ(sum, 3);
}

TEST(Generator, WorksWithTheRangesOfTheLibrary) {
  int sum = 0;
  for (int i : count(10) | std::views::filter([](int n) { return n % 2 == 1; })) sum += i;
  EXPECT_EQ(sum, 25);
}

TEST(Generator, MovesAndKeepsItsPlace) {
  auto g = count(3);
  auto at = g.begin();
  ++at;
  auto moved = std::move(g);
  EXPECT_EQ(*at, 1);
  moved = count(1);
  EXPECT_EQ(*moved.begin(), 0);
}

TEST(Generator, TakesItsFrameFromThePool) {
  if (coro::frame_pool::from_heap()) GTEST_SKIP() << "this build takes frames from the heap";
  test::manual_executor on;
  for (int i : count(1)) EXPECT_EQ(i, 0);
  const auto before = coro::frame_pool::count();
  for (int i : count(1)) EXPECT_EQ(i, 0);
  const auto after = coro::frame_pool::count();
  EXPECT_EQ(after.frames, before.frames + 1);
  EXPECT_EQ(after.heap_blocks, before.heap_blocks);
}

TEST(Generator, WalkedThroughTwiceIsADefectOfTheCaller) {
  auto g = count(1);
  for (int i : g) EXPECT_EQ(i, 0);
  test::expect_misuse([&] { (void)g.begin(); }, "once");
}

}  // namespace
}  // namespace coracle::generator_test
