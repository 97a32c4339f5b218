#include "runtime/repeated_lines.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::repeated_lines_test {
namespace {

using namespace std::chrono_literals;

class lines_logger final : public logger {
 public:
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  void record(log_level, std::string_view message) noexcept override { lines_.emplace_back(message); }
  std::vector<std::string> lines_;
};

using lines = std::vector<std::string>;

class a_repeated_line : public testing::Test {
 protected:
  void write(const std::string& subject, const std::string& text, const void* place = nullptr) {
    const auto on_loop = [](const void* at, std::string about, std::string line) -> task<> {
      repeated_lines::write(*loop::current(), log_room::net, log_level::warning, at, about, std::move(line));
      co_return;
    };
    sync_wait(host(), host().at(0), on_loop(place, subject, text));
  }
  void wait(duration d) { world_->run_for(d); }
  runtime& host() { return *host_; }

  lines_logger log_;
  std::optional<sim::world> world_{std::in_place, 1, sim::world_options{.log = &log_}};
  runtime* host_ = &world_->host("host", 1);
};

TEST_F(a_repeated_line, IsWrittenAtOnceAndThenOncePerIntervalWithTheNumberOfThoseBefore) {
  static_cast<void>(log_.take());
  for (int i = 0; i < 100; ++i) {
    write("refusals", "refused " + std::to_string(i));
    wait(1s);
  }
  const lines all = log_.take();
  ASSERT_GE(all.size(), 10u);
  EXPECT_EQ(all[0], "refused 0");
  EXPECT_EQ(all[1], "refused 9 (and 8 times before in 10 s)");
  EXPECT_EQ(all[2], "refused 19 (and 9 times before in 10 s)");
}

TEST_F(a_repeated_line, IsWrittenWithItsNumberIfNoFurtherOneFollows) {
  for (int i = 0; i < 5; ++i) write("refusals", "refused");
  EXPECT_EQ(log_.take(), lines{"refused"});
  wait(9s);
  EXPECT_EQ(log_.take(), lines{});
  wait(1s);
  EXPECT_EQ(log_.take(), lines{"refused (and 3 times before in 10 s)"});
  wait(1h);
  EXPECT_EQ(log_.take(), lines{});
}

TEST_F(a_repeated_line, ThatComesSeldomIsWrittenAsItIs) {
  for (int i = 0; i < 3; ++i) {
    write("seldom", "seldom");
    wait(10s);
  }
  EXPECT_EQ(log_.take(), lines(3, "seldom"));
  write("seldom", "twice");
  write("seldom", "once more");
  wait(10s);
  EXPECT_EQ(log_.take(), (lines{"twice", "once more"})) << "alone, without a number";
}

TEST_F(a_repeated_line, OfASubjectOrAPlaceDoesNotHideThoseOfOthers) {
  const int here = 0;
  for (int i = 0; i < 3; ++i) {
    write("one", "one");
    write("other", "other");
    write("one", "elsewhere", &here);
  }
  EXPECT_EQ(log_.take(), (lines{"one", "other", "elsewhere"}));
  wait(10s);
  lines later = log_.take();
  std::sort(later.begin(), later.end());
  EXPECT_EQ(later, (lines{"elsewhere (and 1 times before in 10 s)", "one (and 1 times before in 10 s)",
                          "other (and 1 times before in 10 s)"}));
}

TEST_F(a_repeated_line, IsNotLostAtTheEndOfItsLoop) {
  for (int i = 0; i < 5; ++i) write("refusals", "refused");
  static_cast<void>(log_.take());
  world_.reset();
  EXPECT_EQ(log_.take(), lines{"refused (and 3 times before in 10 s)"});
}

TEST_F(a_repeated_line, OfSubjectsThatPeersInventTakesBoundedMemory) {
  const auto subjects = [](runtime& on) -> std::size_t {
    const auto count = []() -> task<std::size_t> {
      co_return loop::current()->local<repeated_lines>().subjects();
    };
    return sync_wait(on, on.at(0), count());
  };
  for (int i = 0; i < 1000; ++i) write("/p.S/" + std::to_string(i), "failed");
  EXPECT_EQ(subjects(host()), repeated_lines::subjects_max + 1) << "and the one that the others share";
  EXPECT_EQ(log_.take().size(), repeated_lines::subjects_max + 1);
  write("/p.S/1", "known");
  EXPECT_EQ(log_.take(), lines{});
  wait(20s);
  EXPECT_EQ(subjects(host()), 0u);
  static_cast<void>(log_.take());
  write("/p.S/New", "new");
  EXPECT_EQ(log_.take(), lines{"new"});
}

}  // namespace
}  // namespace coracle::repeated_lines_test
