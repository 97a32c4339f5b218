#include "coracle/server/call_statistics.hpp"

#include "coracle/coro/executor.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace coracle {

namespace {

std::string microseconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
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
  const std::int64_t second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  std::optional<second_of_calls> over;
  {
    const std::lock_guard held(mutex_);
    if (second > current_.second) {
      if (current_.count > 0) over = last_ = current_;
      current_ = {};
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

void call_statistics::report(const second_of_calls& s) const {
  if (!to_.is_enabled(log_level::info)) return;
  to_.write(log_level::info, "calls=" + std::to_string(s.count) + " mean_us=" + microseconds(s.mean()) +
                                 " max_us=" + microseconds(s.max) + " min_us=" + microseconds(s.min) +
                                 " errors=" + std::to_string(s.errors));
}

std::optional<second_of_calls> call_statistics::last_second() const {
  const std::lock_guard held(mutex_);
  return last_;
}

}  // namespace coracle
