// call_statistics: how many calls a server ended in each second, and how long they took.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <cstdint>
#include <mutex>
#include <optional>

namespace coracle {

// Of the calls that ended within one second of the loops' clock.
struct second_of_calls {
  std::int64_t second = 0;  // which
  std::uint64_t count = 0;
  std::uint64_t errors = 0;  // of them, those that did not end with OK
  duration sum{};
  duration max{};
  duration min{};
  [[nodiscard]] duration mean() const noexcept {
    return count == 0 ? duration() : sum / static_cast<duration::rep>(count);
  }
};

// server.add_interceptor(std::make_shared<coracle::call_statistics>(server.owner().log()));
//
// One line at level info for each second in which calls ended, all loops together:
//
//   calls=1234 mean_us=81 max_us=950 min_us=12 errors=3
//
// It is written when the first call of a later second ends, and the last one when the object is destroyed: no timer
// keeps an idle server awake. Costs a lock that is held for a few instructions per call.
class call_statistics final : public server_interceptor {
 public:
  // `to` must outlive this.
  explicit call_statistics(logger& to) noexcept : to_(to) {}
  ~call_statistics() override;
  task<status> intercept(server_context& context, next_handler next) override;

  // The newest second that is over and had calls. Any thread.
  [[nodiscard]] std::optional<second_of_calls> last_second() const;

 private:
  void count(duration took, bool ok, time_point now);
  void report(const second_of_calls& s) const;

  logger& to_;
  mutable std::mutex mutex_;
  second_of_calls current_;
  std::optional<second_of_calls> last_;
};

}  // namespace coracle
