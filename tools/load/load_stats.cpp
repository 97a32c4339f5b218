#include "tools/load/load_stats.hpp"

#include "tools/terminal_text.hpp"

#include <algorithm>
#include <chrono>

namespace coracle::tools::load {

void second_of_load::add_all(const second_of_load& other) {
  failed += other.failed;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  wire += other.wire;
  active += other.active;
  latency.add_all(other.latency);
  for (const auto& [status, calls_failed] : other.failed_by_status) failed_by_status[status] += calls_failed;
  if (methods.size() < other.methods.size()) methods.resize(other.methods.size());
  for (std::size_t i = 0; i < other.methods.size(); ++i) {
    methods[i].failed += other.methods[i].failed;
    methods[i].latency.add_all(other.methods[i].latency);
  }
}

second_of_load& load_stats::second_at(time_point now) {
  const auto passed = std::chrono::floor<std::chrono::seconds>(now - from_).count();
  const auto second = static_cast<std::size_t>(std::max<std::int64_t>(passed, 0));
  while (seconds_.size() <= second) {
    seconds_.emplace_back();
    if (methods_.size() > 1) seconds_.back().methods.resize(methods_.size());
    seconds_.back().active = active_;  // still active from before
  }
  return seconds_[second];
}

void load_stats::on_wire(std::size_t second, const wire_bytes& more) noexcept {
  seconds_[second].wire += more;
  traffic_.wire += more;
}

void load_stats::fill_up(time_point now) { second_at(now); }

void load_stats::change_active(time_point now, int by) {
  second_of_load& second = second_at(now);
  active_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(by));
  second.active = std::max(second.active, active_);
}

void load_stats::failed(std::size_t method, std::uint64_t calls, time_point now, const call_end& outcome) {
  second_of_load& second = second_at(now);
  second.failed += calls;
  second.failed_by_status[outcome.status()] += calls;
  if (!second.methods.empty()) second.methods[method].failed += calls;
  failures& of_status = methods_[method].failed[outcome.status()];
  if (of_status.count == 0) of_status.first = terminal_text(outcome.message());
  of_status.count += calls;
}

void load_stats::not_begun(std::size_t method, std::uint64_t calls, time_point now, const call_end& reason) {
  failed(method, calls, now, reason);
  last_end_ = std::max(last_end_, now);
}

void load_stats::ended(std::size_t method, time_point began, time_point now, const call_end& outcome) {
  second_of_load& second = second_at(now);
  if (outcome.ok()) {
    const duration took = now - began;
    second.latency.add(took);
    methods_[method].latency.add(took);
    if (!second.methods.empty()) second.methods[method].latency.add(took);
    const auto band = std::upper_bound(bands_.begin(), bands_.end(), took);
    ++in_band_[static_cast<std::size_t>(band - bands_.begin())];
  } else {
    failed(method, 1, now, outcome);
  }
  second.bytes_sent += outcome.bytes_sent;
  second.bytes_received += outcome.bytes_received;
  traffic_.messages_sent += outcome.messages_sent;
  traffic_.messages_received += outcome.messages_received;
  traffic_.bytes_sent += outcome.bytes_sent;
  traffic_.bytes_received += outcome.bytes_received;
  last_end_ = std::max(last_end_, now);
}

}  // namespace coracle::tools::load
