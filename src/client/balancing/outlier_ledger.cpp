#include "client/balancing/outlier_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace coracle::client {

std::shared_ptr<attempt_outcomes> outlier_ledger::join(const net::address& server) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_shared<attempt_outcomes>(server);
  servers_[server].by_loop.push_back(made);
  return made;
}

void outlier_ledger::leave(const std::shared_ptr<attempt_outcomes>& outcomes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = servers_.find(outcomes->server);
  if (at == servers_.end() || std::erase(at->second.by_loop, outcomes) == 0) return;
  at->second.succeeded_gone += outcomes->succeeded();
  at->second.failed_gone += outcomes->failed();
  if (at->second.by_loop.empty()) servers_.erase(at);
}

status outlier_ledger::ejection_of(const net::address& server) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = servers_.find(server);
  return at == servers_.end() ? status() : at->second.ejected;
}

void outlier_ledger::bring_all_back() noexcept {
  const std::lock_guard lock(mutex_);
  due_ = never;
  for (auto& [address, r] : servers_) {
    r.ejected = {};
    r.multiplier = 0;
  }
}

// The first interval begins with the first call of this function, and a shorter interval at once.
time_point outlier_ledger::sweep(const outlier_detection_options& by, time_point now,
                                 const std::function<std::uint32_t()>& percent, std::vector<finding>& found,
                                 std::size_t listed) {
  const std::lock_guard lock(mutex_);
  listed_ = std::max(listed, servers_.size());
  const duration interval = std::max(by.interval, outlier_detection_options::interval_min);
  if (due_ == never) {
    end_interval();
    due_ = deadline_after(now, interval);
  } else if (interval_ != interval) {
    due_ = deadline_after(due_ - interval_, interval);
  }
  interval_ = interval;
  if (now < due_) return due_;
  due_ = deadline_after(now, interval);
  end_interval();
  if (by.success_rate_ejection) judge_by_success_rate(by, now, percent, found);
  if (by.failure_percentage_ejection) judge_by_failures(by, now, percent, found);
  bring_back(by, now);
  return due_;
}

void outlier_ledger::end_interval() noexcept {
  for (auto& [address, r] : servers_) {
    std::uint64_t ok = r.succeeded_gone;
    std::uint64_t failed = r.failed_gone;
    for (const auto& o : r.by_loop) {
      ok += o->succeeded();
      failed += o->failed();
    }
    r.succeeded = ok - std::exchange(r.succeeded_before, ok);
    r.failed = failed - std::exchange(r.failed_before, failed);
  }
}

std::vector<outlier_ledger::server_record*> outlier_ledger::with_attempts(std::uint32_t volume,
                                                                          std::uint32_t hosts) {
  std::vector<server_record*> enough;
  for (auto& [address, r] : servers_)
    if (r.attempts() > 0 && r.attempts() >= volume) enough.push_back(&r);
  if (enough.size() < hosts) enough.clear();
  return enough;
}

void outlier_ledger::judge_by_success_rate(const outlier_detection_options& by, time_point now,
                                           const std::function<std::uint32_t()>& percent,
                                           std::vector<finding>& found) {
  const auto& how = *by.success_rate_ejection;
  const std::vector<server_record*> judged = with_attempts(how.request_volume, how.minimum_hosts);
  if (judged.empty()) return;
  const auto rate = [](const server_record& r) {
    return static_cast<double>(r.succeeded) / static_cast<double>(r.attempts());
  };
  double sum = 0;
  for (const server_record* r : judged) sum += rate(*r);
  const double mean = sum / static_cast<double>(judged.size());
  double squares = 0;
  for (const server_record* r : judged) squares += (rate(*r) - mean) * (rate(*r) - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(judged.size()));
  const double required = mean - deviation * how.stdev_factor / 1000;
  for (server_record* r : judged)
    if (rate(*r) < required &&
        !eject(*r, by, how.enforcement_percentage, now, percent, "success_rate", found))
      return;
}

void outlier_ledger::judge_by_failures(const outlier_detection_options& by, time_point now,
                                       const std::function<std::uint32_t()>& percent,
                                       std::vector<finding>& found) {
  const auto& how = *by.failure_percentage_ejection;
  for (server_record* r : with_attempts(how.request_volume, how.minimum_hosts))
    if (100.0 * static_cast<double>(r->failed) > 1.0 * how.threshold * static_cast<double>(r->attempts()) &&
        !eject(*r, by, how.enforcement_percentage, now, percent, "failure_percentage", found))
      return;
}

// At least one server may be ejected, however few there are.
bool outlier_ledger::eject(server_record& r, const outlier_detection_options& by, std::uint32_t enforcement,
                           time_point now, const std::function<std::uint32_t()>& percent,
                           std::string_view method, std::vector<finding>& found) {
  if (!r.ejected.ok()) return true;
  const auto ejected = static_cast<std::size_t>(
      std::count_if(servers_.begin(), servers_.end(), [](const auto& s) { return !s.second.ejected.ok(); }));
  if (ejected * 100 >= std::size_t{by.max_ejection_percent} * listed_ &&
      (ejected > 0 || by.max_ejection_percent == 0)) {
    found.push_back({method, "max_ejection_overflow"});
    return false;
  }
  if (percent() >= enforcement) {
    found.push_back({method, "enforcement_percentage"});
    return true;
  }
  r.ejected = status::unavailable("the server is ejected for a while: " + std::to_string(r.failed) + " of " +
                                  std::to_string(r.attempts()) + " calls failed");
  r.ejected_at = now;
  ++r.multiplier;
  found.push_back({method, {}});
  return true;
}

void outlier_ledger::bring_back(const outlier_detection_options& by, time_point now) noexcept {
  const duration longest = std::max(by.base_ejection_time, by.max_ejection_time);
  for (auto& [address, r] : servers_) {
    if (r.ejected.ok()) {
      if (r.multiplier > 0) --r.multiplier;
      continue;
    }
    const bool is_longest = by.base_ejection_time > longest / r.multiplier;
    if (now > deadline_after(r.ejected_at, is_longest ? longest : by.base_ejection_time * r.multiplier))
      r.ejected = {};
  }
}

}  // namespace coracle::client
