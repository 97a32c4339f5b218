#include "client/call/waiting_calls.hpp"

#include "client/call/call_attempt.hpp"
#include "client/call/call_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace coracle::client::waiting_calls_test {
namespace {

class waiting_attempt final : public call_attempt {
 public:
  waiting_attempt(int number, criticality level) : call_attempt(mine_), number_(number) {
    mine_.options.metadata.add("x-request-criticality", to_string(level));
  }
  void attach(transport::exchange, const call_target&) noexcept override { leave_queue(); }
  void fail(const status&, refusal) noexcept override { release_places(); }
  void on_headers(transport::header_source&, transport::block_kind, bool) noexcept override {}
  void on_data(bytes_view, bool) noexcept override {}
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override {}
  [[nodiscard]] bool has_siblings() const noexcept override { return is_hedge; }
  [[nodiscard]] int number() const noexcept { return number_; }
  bool is_hedge = false;
  void end() { leave_queue(); }

 private:
  call_terms mine_;
  int number_;
};

int number_of(const call_attempt* a) { return a ? static_cast<const waiting_attempt*>(a)->number() : 0; }

constexpr std::array levels{criticality::sheddable, criticality::sheddable_plus, criticality::critical,
                            criticality::critical_plus};

class a_full_line : public ::testing::Test {
 protected:
  // Returns the number of the attempt that is displaced, or 0.
  int begin(int number, criticality level, bool is_hedge = false) {
    attempts_.push_back(std::make_unique<waiting_attempt>(number, level));
    attempts_.back()->is_hedge = is_hedge;
    queue_.push_back(*attempts_.back());
    call_attempt* const displaced = line_.enter(*attempts_.back());
    if (displaced) {
      displaced->unlink();
      displaced->fail({}, refusal::displaced);
    }
    return number_of(displaced);
  }
  waiting_attempt& attempt(int number) {
    return **std::find_if(attempts_.begin(), attempts_.end(),
                          [number](const auto& a) { return a->number() == number; });
  }
  waiting_calls line_{3};
  call_queue queue_;
  std::vector<std::unique_ptr<waiting_attempt>> attempts_;
};

TEST_F(a_full_line, DisplacesTheOldestOfTheLeastCritical) {
  EXPECT_EQ(begin(1, criticality::critical), 0);
  EXPECT_EQ(begin(2, criticality::sheddable), 0);
  EXPECT_EQ(begin(3, criticality::sheddable), 0);
  EXPECT_EQ(begin(4, criticality::sheddable), 2);
  EXPECT_EQ(begin(5, criticality::critical), 3);
  EXPECT_EQ(begin(6, criticality::critical_plus), 4);
  EXPECT_EQ(begin(7, criticality::critical), 1) << "one of its own level, which has waited longest";
  EXPECT_EQ(line_.size(), 3u);
}

TEST_F(a_full_line, DisplacesTheNewOneIfTheOthersAreMoreCritical) {
  for (const int number : {1, 2, 3}) begin(number, criticality::critical);
  EXPECT_EQ(begin(4, criticality::sheddable_plus), 4);
  EXPECT_FALSE(attempt(4).linked());
}

TEST_F(a_full_line, DisplacesNoCallForAHedge) {
  for (const int number : {1, 2, 3}) begin(number, criticality::sheddable);
  EXPECT_EQ(begin(4, criticality::critical_plus, true), 4);
  EXPECT_EQ(begin(5, criticality::sheddable), 1);
}

TEST_F(a_full_line, HasRoomWhenOneHasAStreamOrEnds) {
  for (const int number : {1, 2, 3}) begin(number, criticality::critical);
  attempt(2).attach({}, {});
  EXPECT_EQ(begin(4, criticality::sheddable), 0);
  attempt(3).end();
  attempts_.erase(attempts_.begin());
  EXPECT_EQ(line_.size(), 1u) << "also one that is destroyed leaves it";
}

TEST_F(a_full_line, KeepsThePlaceOfOneThatChangesItsQueue) {
  for (const int number : {1, 2, 3}) begin(number, criticality::critical);
  call_queue other;
  attempt(1).unlink();
  other.push_back(attempt(1));
  EXPECT_EQ(line_.enter(attempt(1)), nullptr);
  EXPECT_EQ(line_.size(), 3u);
  EXPECT_EQ(begin(4, criticality::critical), 1) << "it is still the oldest";
}

TEST(WaitingCalls, WithoutAMaximumHaveNoPlaces) {
  waiting_calls line(waiting_calls::no_maximum);
  call_queue queue;
  waiting_attempt one(1, criticality::sheddable);
  queue.push_back(one);
  EXPECT_EQ(line.enter(one), nullptr);
  EXPECT_FALSE(one.has_waiting_place());
  EXPECT_EQ(line.size(), 0u);
}

TEST(WaitingCalls, WithAMaximumOfNoneAreDisplacedAtOnce) {
  waiting_calls line(0);
  call_queue queue;
  waiting_attempt one(1, criticality::critical_plus);
  queue.push_back(one);
  EXPECT_EQ(line.enter(one), &one);
}

// What the line must do, in the simplest way.
class model {
 public:
  explicit model(std::size_t maximum) : max_(maximum) {}
  int enter(int number, criticality level) {
    if (std::any_of(waiting_.begin(), waiting_.end(), [=](const one& w) { return w.number == number; }))
      return 0;
    waiting_.push_back({number, level});
    if (waiting_.size() <= max_) return 0;
    const auto least = std::min_element(waiting_.begin(), waiting_.end(),
                                        [](const one& a, const one& b) { return a.level < b.level; });
    const int displaced = least->number;
    waiting_.erase(least);
    return displaced;
  }
  void leave(int number) {
    std::erase_if(waiting_, [=](const one& w) { return w.number == number; });
  }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

 private:
  struct one {
    int number;
    criticality level;
  };
  const std::size_t max_;
  std::vector<one> waiting_;  // in order of arrival
};

// Attempts begin to wait, change their queues, get streams, end, and wait again.
TEST(WaitingCalls, AreThoseOfTheModelWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto draw = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::size_t maximum = draw(12);
    waiting_calls line(static_cast<std::uint32_t>(maximum));
    model expected(maximum);
    std::array<call_queue, 3> queues;
    std::vector<std::unique_ptr<waiting_attempt>> attempts;
    const auto wait = [&](waiting_attempt& a) {
      a.unlink();
      queues[draw(3)].push_back(a);
      call_attempt* const displaced = line.enter(a);
      EXPECT_EQ(number_of(displaced), expected.enter(a.number(), a.terms().criticality()));
      if (!displaced) return;
      displaced->unlink();
      displaced->fail({}, refusal::displaced);
    };
    for (int step = 1; step <= 400 && !HasFailure(); ++step) {
      const std::size_t what = draw(11);
      if (what < 5 || attempts.empty()) {
        attempts.push_back(std::make_unique<waiting_attempt>(step, levels[draw(levels.size())]));
        wait(*attempts.back());
        continue;
      }
      const auto which = attempts.begin() + static_cast<std::ptrdiff_t>(draw(attempts.size()));
      if (what < 7) {
        wait(**which);  // in another queue, or again
      } else if (what == 7) {
        const std::size_t from = draw(3);
        queues[(from + 1) % 3].take(queues[from]);
      } else {
        expected.leave((*which)->number());
        if (what == 8) (*which)->attach({}, {});
        else if (what == 9) (*which)->end();
        else attempts.erase(which);
      }
      EXPECT_EQ(line.size(), expected.size());
    }
  }
}

}  // namespace
}  // namespace coracle::client::waiting_calls_test
