#include "tools/load/results.hpp"

#include <algorithm>
#include <cstddef>

namespace coracle::tools::load {

double results::rate_per_s() const noexcept {
  const double seconds_taken = std::chrono::duration<double>(took).count();
  return seconds_taken > 0 ? static_cast<double>(ok()) / seconds_taken : 0;
}

double results::failed_share() const noexcept {
  return calls() == 0 ? 0 : static_cast<double>(failed_count) / static_cast<double>(calls());
}

double results::per_call(std::uint64_t total) const noexcept {
  return calls() == 0 ? 0 : static_cast<double>(total) / static_cast<double>(calls());
}

void results::add(const load_stats& t) {
  if (seconds.size() < t.seconds().size()) seconds.resize(t.seconds().size());
  for (std::size_t i = 0; i < t.seconds().size(); ++i) seconds[i].add_all(t.seconds()[i]);
  for (std::size_t i = 0; i < t.methods().size(); ++i) {
    const method_stats& from = t.methods()[i];
    methods[i].latency.add_all(from.latency);
    latency.add_all(from.latency);
    for (const auto& [status, failure_counts] : from.failed) {
      methods[i].failed += failure_counts.count;
      failed_count += failure_counts.count;
      failures& all = failed[status];
      if (all.count == 0) all.first = failure_counts.first;
      all.count += failure_counts.count;
    }
  }
  traffic.messages_sent += t.traffic().messages_sent;
  traffic.messages_received += t.traffic().messages_received;
  traffic.bytes_sent += t.traffic().bytes_sent;
  traffic.bytes_received += t.traffic().bytes_received;
  traffic.wire += t.traffic().wire;
  in_band.resize(t.in_band().size());
  for (std::size_t i = 0; i < in_band.size(); ++i) in_band[i] += t.in_band()[i];
  connects.add_all(t.connects());
  connects_failed += t.connects_failed();
  reconnects += t.reconnects();
}

}  // namespace coracle::tools::load
