// call_statistics: an interceptor that counts the calls of a server per second and measures their duration.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace coracle {

/// Counts the calls that ended within one second of the loops' clock.
struct second_of_calls {
  std::int64_t second = 0;   ///< seconds since the clock's epoch
  std::uint64_t count = 0;   ///< calls
  std::uint64_t errors = 0;  ///< calls that did not end with OK
  duration sum{};            ///< of the durations of the calls
  duration max{};            ///< of the slowest call
  duration min{};            ///< of the fastest call
  /// Returns the mean duration; zero without calls.
  [[nodiscard]] duration mean() const noexcept {
    return count == 0 ? duration() : sum / static_cast<duration::rep>(count);
  }
};

/// Counts the calls of a server per second and measures how long they took.
///
///   server.add_interceptor(std::make_shared<coracle::call_statistics>(server.owner().log()));
///
/// Logs one line at level info for each second in which calls ended, for all loops together:
///
///   calls=1234 mean_us=81 max_us=950 min_us=12 errors=3
///
/// The line is written when the first call of a later second ends, and the last line when the object is
/// destroyed: no timer wakes an idle server. log_each_second() also logs the seconds without calls. Each call
/// takes a lock for a few instructions.
class call_statistics final : public server_interceptor {
 public:
  /// Logs to `to`, which must outlive this object.
  explicit call_statistics(logger& to) noexcept : to_(to) {}
  ~call_statistics() override;
  task<status> intercept(server_context& context, next_handler next) override;

  /// Logs a line for each second when it is over, also if no call ended in it, until the task is stopped. The
  /// object must outlive the task, of which there may be one at a time. server::run() waits for the tasks of
  /// its runtime, so that a separate runtime suits this task, which ends when that is destroyed:
  ///
  ///   coracle::runtime ticker;
  ///   ticker.spawn(statistics->log_each_second());
  ///   ticker.start();
  ///   return server.run();
  [[nodiscard]] task<> log_each_second();

  /// Returns the latest second that is over and in which calls ended. May be called from any thread.
  [[nodiscard]] std::optional<second_of_calls> last_second() const;

 private:
  void count(duration took, bool ok, time_point now);
  void report(const second_of_calls& s) const;
  void close_current();
  second_of_calls take(std::int64_t second);

  logger& to_;
  mutable std::mutex mutex_;
  second_of_calls current_;
  std::optional<second_of_calls> last_;
  bool each_second_ = false;  // log_each_second() runs
  std::vector<second_of_calls> over_;  // which it has not logged yet
};

}  // namespace coracle
