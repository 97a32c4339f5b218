#include "timed_scheduler.hpp"

#include "../lab.hpp"

#include <chrono>
#include <string>

using lab::expect;
using namespace std::chrono_literals;

// The time passes only in wait_until().
class test_clock final : public lab::clock {
 public:
  lab::time_point now() override { return now_; }
  void wait_until(lab::time_point when) override {
    ++waits;
    now_ = when;
  }
  int waits = 0;

 private:
  lab::time_point now_{};
};

lab::task<> sleep(lab::timed_scheduler& on, lab::duration d, std::string& log, char name) {
  co_await on.sleep_for(d);
  log += name;
}

lab::task<> sleep_in_steps(lab::timed_scheduler& on, std::string& log) {
  for (int i = 0; i < 3; ++i) {
    co_await on.sleep_for(40min);
    log += '.';
  }
}

lab::task<> sleep_until_the_past(lab::timed_scheduler& on, std::string& log) {
  co_await on.sleep_until(lab::time_point{} - 1h);
  log += "at once ";
}

void test() {
  test_clock clock;
  lab::timed_scheduler s(clock);
  std::string log;
  s.spawn(sleep(s, 3h, log, 'c'));
  s.spawn(sleep(s, 1h, log, 'a'));
  s.spawn(sleep(s, 2h, log, 'b'));
  s.spawn(sleep(s, 1h, log, 'A'));
  s.run();
  expect(log == "aAbc", "sleepers wake in the order of their times, and of their arrival");
  expect(clock.now() == lab::time_point{} + 3h, "the clock stands where the last one woke");
  expect(clock.waits == 3, "sleepers of the same time share one wait");

  log.clear();
  s.spawn(sleep_until_the_past(s, log));
  s.run();
  expect(log == "at once " && clock.waits == 3, "a time that has passed is not waited for");

  log.clear();
  s.spawn(sleep(s, 1h, log, 'x'));
  s.spawn(sleep_in_steps(s, log));
  s.run();
  expect(log == ".x..", "a task sleeps several times while others run");

  lab::real_clock real;
  lab::timed_scheduler timed(real);
  const lab::time_point before = real.now();
  timed.spawn(sleep(timed, 5ms, log, 'y'));
  timed.run();
  expect(real.now() - before >= 5ms, "with a real clock, no sleep ends early");
}

int main() { return lab::run_test(test); }
