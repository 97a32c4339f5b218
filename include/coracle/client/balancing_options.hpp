// balancing_options: the parameters of load balancing policies.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle {

/// How the share of a server that has just become READY grows (gRFC A100, and Envoy's slow start), so that
/// its caches fill before it gets all of its calls. Its weight is multiplied by the larger one of
/// min_weight_percent / 100 and (t / window) to the power of 1 / aggression, where t is the time since it
/// became READY, at least 1 s. A server that reconnects begins anew.
struct slow_start_options {
  /// How long it grows. More than 0.
  duration window = std::chrono::seconds(60);
  /// 1: evenly. More: faster at first. Less: slower at first. More than 0.
  double aggression = 1.0;
  /// What it has at least. From 0 to 100.
  double min_weight_percent = 10;

  friend bool operator==(const slow_start_options&, const slow_start_options&) = default;
};

/// The parameters of balancing::weighted_round_robin(), with the defaults and the names of gRFC A58.
struct weighted_round_robin_options {
  /// The maximum number of names below; each report is asked for each of them.
  static constexpr std::size_t metric_names_limit = 64;
  /// Servers report their load over a stream of their connection, not with each call (gRFC A51).
  bool oob_load_report = false;
  /// The interval of these reports. A server may report less often.
  duration oob_reporting_period = std::chrono::seconds(10);
  /// A server that has begun to report gets no weight of its own for this long.
  duration blackout_period = std::chrono::seconds(10);
  /// The weight of a server that has not reported for this long is unknown.
  duration weight_expiration_period = std::chrono::seconds(180);
  /// How often weights are computed; at least 100 ms.
  duration weight_update_period = std::chrono::seconds(1);
  /// How much failed calls reduce a weight: they count this many times as utilization. Not negative.
  double error_utilization_penalty = 1.0;
  /// The utilization of a server is the largest of these values of its reports, such as
  /// "named_metrics.queue", "utilization.disk", "mem_utilization" (gRFC A114). If it has none of them, it is
  /// that of the application, or else of the CPU. At most metric_names_limit names.
  std::vector<std::string> metric_names_for_computing_utilization{};
  /// Reduces the weights of servers that have just become READY. Default: none.
  std::optional<slow_start_options> slow_start{};

  friend bool operator==(const weighted_round_robin_options&, const weighted_round_robin_options&) = default;
};

/// The parameters of balancing::ring_hash(), with the defaults and the names of gRFC A42.
struct ring_hash_options {
  /// The largest ring that a channel makes; larger sizes count as this one. Of more servers than that, some
  /// have no place.
  static constexpr std::uint32_t ring_size_limit = 4096;
  /// The ring has at least this many entries, so that each server has its share of it.
  std::uint32_t min_ring_size = 1024;
  /// The ring has at most this many entries. Not below min_ring_size.
  std::uint32_t max_ring_size = 4096;
  /// The metadata whose value decides on the server (gRFC A76): calls with the same value have the same
  /// server. Calls without it, and all calls if it is empty, get a random server, and prefer those that are
  /// connected.
  std::string request_hash_header{};

  friend bool operator==(const ring_hash_options&, const ring_hash_options&) = default;
};

/// Compares the share of calls that succeed with that of the other servers.
struct outlier_success_rate {
  /// A server is ejected if its rate is below the mean minus this many thousandths of the standard
  /// deviation.
  std::uint32_t stdev_factor = 1900;
  /// The probability in percent that such a server is ejected.
  std::uint32_t enforcement_percentage = 100;
  /// Nothing happens with fewer servers that have enough calls.
  std::uint32_t minimum_hosts = 5;
  /// Servers with fewer calls in the interval are not judged.
  std::uint32_t request_volume = 100;
  friend bool operator==(const outlier_success_rate&, const outlier_success_rate&) = default;
};

/// Compares the share of calls that fail with a fixed one.
struct outlier_failure_percentage {
  /// A server is ejected if more than this percentage of its calls fails.
  std::uint32_t threshold = 85;
  /// The probability in percent that such a server is ejected.
  std::uint32_t enforcement_percentage = 100;
  /// Nothing happens with fewer servers that have enough calls.
  std::uint32_t minimum_hosts = 5;
  /// Servers with fewer calls in the interval are not judged.
  std::uint32_t request_volume = 50;
  friend bool operator==(const outlier_failure_percentage&, const outlier_failure_percentage&) = default;
};

/// The parameters of balancing::outlier_detection(), with the defaults and the names of gRFC A50. Servers are
/// judged at the end of each interval, by the calls of all loops of the channel that ended in it.
struct outlier_detection_options {
  /// Shorter intervals count as this one.
  static constexpr duration interval_min = std::chrono::milliseconds(100);
  /// How often servers are judged.
  duration interval = std::chrono::seconds(10);
  /// How long a server is ejected for the first time; the second time it is twice as long, and so on. Each
  /// interval in which it is not ejected takes one back.
  duration base_ejection_time = std::chrono::seconds(30);
  /// The longest that it is ejected, unless base_ejection_time is longer.
  duration max_ejection_time = std::chrono::seconds(300);
  /// While this percentage of the servers is ejected, or more, no other one is.
  std::uint32_t max_ejection_percent = 10;
  /// Empty: servers are not compared with each other.
  std::optional<outlier_success_rate> success_rate_ejection{};
  /// Empty: there is no fixed limit.
  std::optional<outlier_failure_percentage> failure_percentage_ejection{};

  friend bool operator==(const outlier_detection_options&, const outlier_detection_options&) = default;
};

}  // namespace coracle
