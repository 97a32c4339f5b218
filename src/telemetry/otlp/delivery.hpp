// delivery: sends the requests of one signal, with OTLP's rules for retries, and says so when it cannot.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "telemetry/otlp/destination.hpp"
#include "telemetry/otlp/export_counts.hpp"
#include "telemetry/otlp/requests.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::telemetry_internal {

// Waits for `d`, or until the event is set. Returns whether it is.
[[nodiscard]] task<bool> wait_for(event<>& e, duration d);

// Lives on one loop.
class delivery {
 public:
  // Between two attempts: the first pause, the factor of the next, the longest, and by how much each differs
  // at random.
  static constexpr duration first_pause = std::chrono::milliseconds(500);
  static constexpr double pause_factor = 2;
  static constexpr duration pause_max = std::chrono::seconds(10);
  static constexpr double jitter = 0.2;
  // A collector may ask for a pause of this length at most.
  static constexpr duration throttle_max = std::chrono::minutes(5);

  // What it refers to must outlive it. Once `ending` is set, no request is sent a second time.
  delivery(runtime& on, signal s, const otlp_destination& to, const endpoint_parts& at, event<>& ending,
           bound_log log, export_counts& counts);

  // Sends a request until the collector has taken or refused it, or `give_up` has passed. Counts what becomes
  // of its items. Returns whether the collector has taken them. A stop ends it with coro::cancelled; the
  // items are counted as lost then.
  [[nodiscard]] task<bool> send(export_request request, time_point give_up);

 private:
  [[nodiscard]] duration next_pause(unsigned attempt) noexcept;
  void failed(loss l, std::string_view reason, std::uint64_t items) noexcept;
  void delivered(const export_answer& a, std::uint64_t items) noexcept;

  const signal signal_;
  const std::string endpoint_;
  collector_channel channel_;
  event<>& ending_;
  bound_log log_;
  export_counts& counts_;
  std::uint64_t random_;
  time_point not_before_{};  // the collector has asked for a pause
  bool failing_ = false;  // and it has been logged
  bool warned_ = false;  // of a partial success
};

}  // namespace coracle::telemetry_internal
