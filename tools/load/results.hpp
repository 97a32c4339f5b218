// results: the results of a run, over all its loops.
#pragma once

#include "tools/load/expectation.hpp"
#include "tools/load/latency_histogram.hpp"
#include "tools/load/load_stats.hpp"

#include <coracle/base/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools::load {

struct method_results {
  std::string name;
  std::uint32_t weight = 1;
  std::uint64_t failed = 0;
  latency_histogram latency;
};

struct results {
  std::string name;  // "gRPC" or "REST"
  std::string target;
  server_identity server;
  std::string scenario;  // description of the scenario
  std::string protocol;  // "gRPC", "Connect", "REST"
  std::vector<std::string> data;  // what the requests are made of; see request_options::description()
  std::chrono::system_clock::time_point started;
  duration took{};  // until the last call ended, without the warm-up
  std::optional<std::uint64_t> planned;
  std::vector<std::uint64_t> planned_by_second;  // of an open loop: the calls that were to begin
  bool interrupted = false;

  latency_histogram latency;  // of the calls that ended with OK
  failures_by_status failed;
  std::uint64_t failed_count = 0;
  std::vector<method_results> methods;
  std::vector<second_of_load> seconds;
  traffic_stats traffic;
  std::vector<duration> bands;
  std::vector<std::uint64_t> in_band;  // one element more than bands
  latency_histogram connects;  // the first of each connection
  std::uint64_t connects_failed = 0;
  std::uint64_t reconnects = 0;  // after the first, warm-up included
  std::vector<expectation::verdict> verdicts;

  [[nodiscard]] std::uint64_t ok() const noexcept { return latency.count(); }
  [[nodiscard]] std::uint64_t calls() const noexcept { return latency.count() + failed_count; }
  // Calls per second that ended with OK.
  [[nodiscard]] double rate_per_s() const noexcept;
  // The failed calls as a share of 1; 0 without calls.
  [[nodiscard]] double failed_share() const noexcept;

  // A total as its share of one call; 0 without calls.
  [[nodiscard]] double per_call(std::uint64_t total) const noexcept;

  // Adds the counts of one loop. The names of the methods must be set.
  void add(const load_stats& t);
};

}  // namespace coracle::tools::load
