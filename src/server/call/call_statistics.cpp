#include "coracle/server/call_statistics.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/sleep.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace coracle {

namespace {

std::string microseconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

std::int64_t second_of(time_point t) {
  return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
}

}  // namespace

call_statistics::~call_statistics() {
  if (current_.count > 0) report(current_);
}

task<status> call_statistics::intercept(server_context&, next_handler next) {
  const time_point began = coro::this_executor().now();
  const status outcome = co_await next();
  const time_point now = coro::this_executor().now();
  count(now - began, outcome.ok(), now);
  co_return outcome;
}

void call_statistics::count(duration took, bool succeeded, time_point now) {
  const std::int64_t second = second_of(now);
  std::optional<second_of_calls> over;
  {
    const std::lock_guard held(mutex_);
    if (second > current_.second) {
      if (current_.count > 0 && !each_second_) over = current_;
      close_current();
      current_.second = second;
    }
    current_.min = current_.count == 0 ? took : std::min(current_.min, took);
    current_.max = std::max(current_.max, took);
    current_.sum += took;
    ++current_.count;
    if (!succeeded) ++current_.errors;
  }
  if (over) report(*over);
}

// Under the lock.
void call_statistics::close_current() {
  if (current_.count > 0) {
    last_ = current_;
    if (each_second_) over_.push_back(current_);
  }
  current_ = {};
}

// Returns what ended in this second, which is over.
second_of_calls call_statistics::take(std::int64_t second) {
  const std::lock_guard held(mutex_);
  if (current_.second <= second) close_current();
  second_of_calls found;
  found.second = second;
  for (const second_of_calls& s : over_)
    if (s.second == second) found = s;
  std::erase_if(over_, [second](const second_of_calls& s) { return s.second <= second; });
  return found;
}

task<> call_statistics::log_each_second() {
  struct running {
    explicit running(call_statistics& s) : of(s) {
      const std::lock_guard held(of.mutex_);
      CORACLE_REQUIRE(!of.each_second_,
                      "log_each_second() of one call_statistics ran twice at the same time");
      of.each_second_ = true;
    }
    ~running() {
      const std::lock_guard held(of.mutex_);
      of.each_second_ = false;
      of.over_.clear();
    }
    call_statistics& of;
  } while_running(*this);
  for (std::int64_t second = second_of(coro::this_executor().now());; ++second) {
    co_await sleep_until(time_point(std::chrono::seconds(second + 1)));
    report(take(second));
  }
}

void call_statistics::report(const second_of_calls& s) const {
  if (!to_.is_enabled(log_room::access, log_level::info)) return;
  to_.write(log_room::access, log_level::info,
            "calls=" + std::to_string(s.count) + " mean_us=" + microseconds(s.mean()) +
                " max_us=" + microseconds(s.max) + " min_us=" + microseconds(s.min) +
                " errors=" + std::to_string(s.errors));
}

std::optional<second_of_calls> call_statistics::last_second() const {
  const std::lock_guard held(mutex_);
  return last_;
}

}  // namespace coracle
