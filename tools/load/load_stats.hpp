// load_stats: the counters of one loop of a run, by the second.
#pragma once

#include "tools/load/connection.hpp"
#include "tools/load/latency_histogram.hpp"

#include <coracle/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tools::load {

// Counts the calls that ended within one second of the run.
struct second_of_load {
  std::uint64_t failed = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  wire_bytes wire;  // of all connections, whatever for
  std::uint64_t active = 0;  // the maximum at a time
  latency_histogram latency;  // of the calls that ended with OK
  std::map<std::string, std::uint64_t> failed_by_status;
  struct of_method {
    std::uint64_t failed = 0;
    latency_histogram latency;
  };
  std::vector<of_method> methods;  // empty if there is only one

  [[nodiscard]] std::uint64_t calls() const noexcept { return latency.count() + failed; }
  void add_all(const second_of_load& other);
};

struct failures {
  std::uint64_t count = 0;
  std::string first;  // the message of the first
};

// Failures by status, and the counts of one method.
using failures_by_status = std::map<std::string, failures>;
struct method_stats {
  failures_by_status failed;
  latency_histogram latency;
};

// Of the calls that ended; `wire` is that of the connections.
struct traffic_stats {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  wire_bytes wire;
};

// Belongs to one loop while the run lasts. Second 0 begins when the warm-up ends; what ends earlier is not
// counted.
class load_stats {
 public:
  // `bands`: latencies, ascending, that divide the calls into groups which are counted exactly.
  load_stats(std::size_t methods, std::vector<duration> bands)
      : methods_(methods), bands_(std::move(bands)), in_band_(bands_.size() + 1) {}
  void begins(time_point measured_from) noexcept { from_ = last_end_ = measured_from; }

  // A worker, a user, or a call of an open loop has begun or ended.
  void enter(time_point now) { change_active(now, 1); }
  void leave(time_point now) { change_active(now, -1); }

  // `began` is the planned time, if there is a plan.
  void ended(std::size_t method, time_point began, time_point now, const call_end& outcome);
  // Counts `calls` calls at once that were never made.
  void not_begun(std::size_t method, std::uint64_t calls, time_point now, const call_end& reason);
  void connected(duration took) { connects_.add(took); }
  void not_connected() noexcept { ++connects_failed_; }
  void reconnected(std::uint64_t times) noexcept { reconnects_ += times; }

  // Adds bytes to those of a second that exists, and to the total.
  void on_wire(std::size_t second, const wire_bytes& more) noexcept;

  // Adds all seconds up to that of `now`.
  void fill_up(time_point now);
  [[nodiscard]] const std::vector<second_of_load>& seconds() const noexcept { return seconds_; }
  [[nodiscard]] const std::vector<method_stats>& methods() const noexcept { return methods_; }
  [[nodiscard]] const traffic_stats& traffic() const noexcept { return traffic_; }
  [[nodiscard]] const std::vector<std::uint64_t>& in_band() const noexcept { return in_band_; }
  [[nodiscard]] const latency_histogram& connects() const noexcept { return connects_; }
  [[nodiscard]] std::uint64_t connects_failed() const noexcept { return connects_failed_; }
  [[nodiscard]] std::uint64_t reconnects() const noexcept { return reconnects_; }
  // When the last counted call ended.
  [[nodiscard]] time_point last_end() const noexcept { return last_end_; }

 private:
  second_of_load& second_at(time_point now);
  void failed(std::size_t method, std::uint64_t calls, time_point now, const call_end& outcome);
  void change_active(time_point now, int by);

  time_point from_{};
  time_point last_end_{};
  std::uint64_t active_ = 0;
  std::vector<second_of_load> seconds_;
  std::vector<method_stats> methods_;
  traffic_stats traffic_;
  std::vector<duration> bands_;
  std::vector<std::uint64_t> in_band_;
  latency_histogram connects_;
  std::uint64_t connects_failed_ = 0;
  std::uint64_t reconnects_ = 0;
};

}  // namespace coracle::tools::load
