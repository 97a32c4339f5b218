#include "coracle/server/impl/message_store.hpp"

#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace coracle::server_internal::message_store_test {
namespace {

class counted_object;
class other_object;

}  // namespace
}  // namespace coracle::server_internal::message_store_test

namespace coracle::server_internal {

// In every build, whether or not it reuses messages.
template <>
class kind_of<message_store_test::counted_object> {
 public:
  [[nodiscard]] static std::uint32_t known() noexcept { return 3; }
};
template <>
class kind_of<message_store_test::other_object> {
 public:
  [[nodiscard]] static std::uint32_t known() noexcept { return 40; }
};

}  // namespace coracle::server_internal

namespace coracle::server_internal::message_store_test {
namespace {

using store = message_store;
constexpr std::size_t kb = 1024;
static_assert(store::object_bytes_min == kb);

int living = 0;
int measured = 0;

class counted_object : public reusable {
 public:
  explicit counted_object(std::size_t b = 100, std::uint32_t kind = 3)
      : reusable(kind, functions_of<counted_object>), bytes(b) {
    ++living;
  }
  ~counted_object() { --living; }
  void clear() noexcept { ++cleared; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    ++measured;
    return bytes;
  }
  std::size_t bytes;
  int cleared = 0;
};
class other_object final : public counted_object {
 public:
  other_object() : counted_object(100, 40) {}
};

class message_stores : public testing::Test {
 protected:
  void SetUp() override { living = measured = 0; }
  counted_object* take() { return kept.take<counted_object>(); }
  // The given number of objects, each of which a call has used.
  void fill(int n) {
    std::vector<counted_object*> all;
    for (int i = 0; i < n; ++i) all.push_back(new counted_object);
    for (counted_object* o : all) kept.give_back(*o, 10);
  }

  test::manual_executor here;
  std::atomic<std::size_t> quota{0};
  message_store kept;
};

TEST_F(message_stores, GiveBackWhatWasGivenToThemLastAndCleared) {
  EXPECT_EQ(take(), nullptr);
  auto* const first = new counted_object;
  auto* const second = new counted_object;
  kept.give_back(*first, 10);
  kept.give_back(*second, 10);
  EXPECT_EQ(take(), second);
  EXPECT_EQ(take(), first);
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(first->cleared, 1);
  kept.give_back(*first, 10);
  EXPECT_EQ(first->cleared, 2);
  kept.give_back(*second, 10);
  EXPECT_EQ(living, 2);
}

TEST_F(message_stores, KeepKindsApart) {
  auto* const other = new other_object;
  kept.give_back(*other, 10);
  EXPECT_EQ(take(), nullptr);
  fill(1);
  EXPECT_EQ(kept.take<other_object>(), other);
  EXPECT_EQ(kept.take<other_object>(), nullptr);
  counted_object* const one = take();
  ASSERT_NE(one, nullptr);
  kept.give_back(*one, 10);
  kept.give_back(*other, 10);
}

TEST_F(message_stores, DestroyAnObjectOfNoKind) {
  kept.give_back(*new counted_object(100, 0), 10);
  EXPECT_EQ(living, 0);
}

TEST_F(message_stores, DestroyWhatWasLargeOnTheWire) {
  auto* const o = new counted_object;
  kept.give_back(*o, store::wire_bytes_max);
  ASSERT_EQ(take(), o);
  kept.give_back(*o, store::wire_bytes_max + 1);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(kept.accounted_bytes(), 0u);
  kept.give_back(*new counted_object, store::not_kept);
  EXPECT_EQ(living, 0);
}

TEST_F(message_stores, DestroyWhatIsLargeInMemory) {
  kept.give_back(*new counted_object(store::object_bytes_max), 10);
  EXPECT_EQ(living, 1);
  kept.give_back(*new counted_object(store::object_bytes_max + 1), 10);
  EXPECT_EQ(living, 1);
}

TEST_F(message_stores, MeasureAgainWhenSoMuchHasComeIntoTheMessage) {
  auto* const o = new counted_object;
  kept.give_back(*o, 100);
  EXPECT_EQ(measured, 1);
  std::size_t received = 0;
  while (measured == 1) {
    ASSERT_EQ(take(), o);
    kept.give_back(*o, 100);
    received += 100;
  }
  EXPECT_GE(received, store::measuring_interval_bytes);
  EXPECT_LT(received, store::measuring_interval_bytes + 100);
}

TEST_F(message_stores, FindThatAMessageHasGrown) {
  kept.limit(store::budget_bytes_max, quota);
  auto* const o = new counted_object;
  kept.give_back(*o, 1000);
  EXPECT_EQ(quota, kb);
  o->bytes = 5000;
  for (int i = 0; i < 5; ++i) kept.give_back(*take(), 1000);
  EXPECT_EQ(quota, 5000u);
  o->bytes = 300;  // one that shrinks, as where the handler has taken it
  for (int i = 0; i < 5; ++i) kept.give_back(*take(), 1000);
  EXPECT_EQ(quota, kb);
  o->bytes = store::object_bytes_max + 1;
  for (int i = 0; i < 5 && living == 1; ++i) kept.give_back(*take(), 1000);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(quota, 0u);
}

TEST_F(message_stores, MeasureWhatTheProgramMayHaveChanged) {
  fill(1);
  counted_object* const o = take();
  o->bytes = store::object_bytes_max + 1;
  kept.give_back(*o, store::not_known);
  EXPECT_EQ(living, 0);
}

TEST_F(message_stores, UseWhatNothingMeasuresForOneInterval) {
  auto* const o = new counted_object(0);
  kept.give_back(*o, 1000);
  int uses = 0;
  while (living == 1) {
    ASSERT_EQ(take(), o);
    kept.give_back(*o, 1000);
    ++uses;
  }
  EXPECT_EQ(uses, 5);
  EXPECT_EQ(kept.accounted_bytes(), 0u);
}

TEST_F(message_stores, KeepNoMoreThanTheirBudget) {
  kept.limit(3 * kb + 500, quota);
  fill(10);
  EXPECT_EQ(living, 3);
  EXPECT_EQ(quota, 3 * kb);
  EXPECT_EQ(kept.accounted_bytes(), 3 * kb);
  // Objects in use by calls count as well: after a burst of calls, no more than the budget is kept.
  counted_object* const lent = take();
  EXPECT_EQ(quota, 3 * kb);
  kept.give_back(*new counted_object, 10);
  EXPECT_EQ(living, 3);
  lent->bytes = 2 * kb;  // more than is left
  kept.give_back(*lent, store::not_known);
  EXPECT_EQ(living, 2);
  EXPECT_EQ(quota, 2 * kb);
}

TEST_F(message_stores, HaveABudgetOfTheirOwn) {
  kept.limit(std::size_t{1} << 40, quota);
  fill(5000);
  EXPECT_EQ(quota, store::budget_bytes_max);
  EXPECT_EQ(living, 1024);
}

TEST_F(message_stores, FreeWhatNobodyUsesAndArmNoTimerThen) {
  kept.limit(store::budget_bytes_max, quota);
  fill(20);
  here.advance(store::idle_interval);
  EXPECT_EQ(living, 20) << "they were given back within the interval";
  here.advance(store::idle_interval);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(quota, 0u);
  EXPECT_TRUE(here.idle());
  fill(1);
  EXPECT_FALSE(here.idle());
}

TEST_F(message_stores, FreeWhatABurstOfCallsHasLeftWhileOthersGoOn) {
  fill(20);
  for (int i = 0; i < 3; ++i) {
    here.advance(store::idle_interval);
    kept.give_back(*take(), 10);
  }
  EXPECT_EQ(living, 1);
  EXPECT_EQ(kept.accounted_bytes(), kb);
}

TEST_F(message_stores, CountWhatACallHasForLong) {
  kept.limit(store::budget_bytes_max, quota);
  fill(2);
  counted_object* const lent = take();
  here.advance(store::idle_interval);
  here.advance(store::idle_interval);
  EXPECT_EQ(living, 1);
  EXPECT_EQ(quota, kb);
  kept.give_back(*lent, 10);
  here.advance(store::idle_interval);
  here.advance(store::idle_interval);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(quota, 0u);
}

TEST_F(message_stores, AreReleasedWhenMemoryIsShort) {
  kept.limit(store::budget_bytes_max, quota);
  fill(5);
  counted_object* const lent = take();
  kept.release();
  EXPECT_EQ(living, 1);
  EXPECT_EQ(quota, kb);
  kept.give_back(*lent, 10);
  EXPECT_EQ(take(), lent);
  kept.give_back(*lent, 10);
}

TEST_F(message_stores, LeaveNothingBehind) {
  {
    message_store brief;
    brief.limit(store::budget_bytes_max, quota);
    brief.give_back(*new counted_object, 10);
    EXPECT_EQ(quota, kb);
  }
  EXPECT_EQ(living, 0);
  EXPECT_EQ(quota, 0u);
  EXPECT_TRUE(here.idle());
}

}  // namespace
}  // namespace coracle::server_internal::message_store_test
