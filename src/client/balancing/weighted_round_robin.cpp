#include "client/balancing/weighted_round_robin.hpp"

#include "base/if_memory_allows.hpp"
#include "client/balancing/balancing_instruments.hpp"
#include "client/balancing/subchannel.hpp"
#include "coracle/rpc/load_report.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace coracle::client {

namespace {

// What a server reports must not bring it all calls: larger weights count as this many times the median.
constexpr double times_median_max = 20;

void bound(std::vector<double>& of_servers) {
  std::vector<double> known;
  for (const double w : of_servers)
    if (w > 0) known.push_back(w);
  if (known.empty()) return;
  const auto median = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), median, known.end());
  for (double& w : of_servers) w = std::min(w, *median * times_median_max);
}

}  // namespace

bool stride_schedule::set(const std::vector<double>& weights) {
  constexpr double share_max = 65535;
  positions_ = weights.size();
  shares_.clear();
  double sum = 0;
  double largest = 0;
  std::size_t known = 0;
  for (const double w : weights) {
    if (w <= 0) continue;
    ++known;
    sum += w;
    largest = std::max(largest, w);
  }
  if (known < 2) return true;
  const double mean = sum / static_cast<double>(known);
  // With equal weights, turns are the same, and cheaper.
  if (std::all_of(weights.begin(), weights.end(), [&](double w) { return w <= 0 || w == largest; }))
    return false;
  shares_.reserve(weights.size());
  for (const double w : weights) {
    const double share = std::round((w > 0 ? w : mean) / largest * share_max);
    shares_.push_back(static_cast<std::uint16_t>(std::max(share, 1.0)));
  }
  return false;
}

std::size_t stride_schedule::next(std::uint32_t& sequence) const noexcept {
  constexpr std::uint64_t share_max = 65535;
  constexpr std::uint64_t offset = share_max / 2;  // between neighbours, so that they do not skip together
  while (true) {
    const std::uint32_t turn = sequence++;
    const std::size_t position = turn % positions_;
    if (shares_.empty()) return position;
    const std::uint64_t generation = turn / positions_;
    const std::uint64_t share = shares_[position];
    if ((share * generation + position * offset) % share_max >= share_max - share) return position;
  }
}

weighted_round_robin::weighted_round_robin(const weighted_round_robin_options& options, loop& here,
                                           std::string target, server_labels labels)
    : options_(options),
      loop_(here),
      target_(std::move(target)),
      labels_(std::move(labels)),
      sequence_(static_cast<std::uint32_t>(here.io().random())) {
  if (options_.slow_start) growth_.emplace(*options_.slow_start);
}

std::optional<duration> weighted_round_robin::load_interval() const {
  if (!options_.oob_load_report) return std::nullopt;
  return options_.oob_reporting_period;
}

// What a server has reported before it was READY does not count.
void weighted_round_robin::ready_changed(std::span<const pick_candidate> ready) {
  std::map<std::uint64_t, server_weight> kept;
  for (const pick_candidate& c : ready) {
    const auto before = weights_.find(c.at_->id());
    server_weight& w = kept[c.at_->id()];
    if (before != weights_.end() && before->second.times_ready == c.at_->times_ready()) w = before->second;
    w.times_ready = c.at_->times_ready();
  }
  weights_.swap(kept);
  schedule(ready);
}

std::size_t weighted_round_robin::pick(std::span<const pick_candidate> ready, const pick_info&) {
  // Without memory the weights stay as they are, or servers are picked in turn.
  if (loop_.now() >= next_update_) [[unlikely]]
    base::if_memory_allows([&] { schedule(ready); });
  return schedule_.next(sequence_);
}

void weighted_round_robin::schedule(std::span<const pick_candidate> ready) {
  constexpr duration period_min = std::chrono::milliseconds(100);
  next_update_ = deadline_after(loop_.now(), std::max(options_.weight_update_period, period_min));
  std::vector<double> weights;
  weights.reserve(ready.size());
  for (const pick_candidate& c : ready) {
    const auto known = weights_.find(c.at_->id());
    weights.push_back(known == weights_.end() ? 0 : weight_of(known->second));
    measure_weight(target_, labels_, weights.back());
  }
  bound(weights);
  if (growth_) growth_->reduce(ready, weights, loop_.now());
  if (schedule_.set(weights) && !ready.empty()) measure_round_robin_fallback(target_, labels_);
}

double weighted_round_robin::weight_of(server_weight& w) {
  if (!w.usable_since) {
    measure_weight_not_yet_usable(target_, labels_);
    return 0;
  }
  if (loop_.now() - w.reported >= options_.weight_expiration_period) {
    w.usable_since.reset();
    measure_weight_stale(target_, labels_);
    return 0;
  }
  if (options_.blackout_period > duration::zero() &&
      loop_.now() - *w.usable_since < options_.blackout_period) {
    measure_weight_not_yet_usable(target_, labels_);
    return 0;
  }
  return w.value;
}

namespace {

// "named_metrics.queue.length" is the metric "queue.length".
std::optional<double> metric_of(const load_report& load, std::string_view name) {
  if (name == "application_utilization") return load.application_utilization();
  if (name == "cpu_utilization") return load.cpu_utilization();
  if (name == "mem_utilization") return load.memory_utilization();
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(0, dot);
  const std::string_view key = name.substr(dot + 1);
  if (kind != "named_metrics" && kind != "utilization") return std::nullopt;
  const load_report::values& all = kind == "utilization" ? load.utilizations() : load.metrics();
  const auto found = all.find(key);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<double> weighted_round_robin::utilization_of(const load_report& load) const {
  std::optional<double> largest;
  for (const std::string& name : options_.metric_names_for_computing_utilization) {
    const std::optional<double> value = metric_of(load, name);
    if (value && *value > 0 && std::isfinite(*value) && (!largest || *value > *largest)) largest = value;
  }
  if (largest) return largest;
  if (load.application_utilization().value_or(0) > 0) return load.application_utilization();
  return load.cpu_utilization();
}

void weighted_round_robin::load_reported(const pick_candidate& server, const load_report& load) {
  const auto known = weights_.find(server.at_->id());
  if (known == weights_.end()) return;
  const double qps = load.qps().value_or(0);
  double used = utilization_of(load).value_or(0);
  if (used > 0 && qps > 0) used += load.eps().value_or(0) / qps * options_.error_utilization_penalty;
  if (used <= 0 || qps <= 0) return;
  const double weight = qps / used;
  if (!std::isfinite(weight) || weight <= 0) return;
  server_weight& w = known->second;
  w.value = weight;
  w.reported = loop_.now();
  if (!w.usable_since) w.usable_since = loop_.now();
}

slow_start_round_robin::slow_start_round_robin(const slow_start_options& options, loop& here)
    : loop_(here), growth_(options), sequence_(static_cast<std::uint32_t>(here.io().random())) {}

void slow_start_round_robin::ready_changed(std::span<const pick_candidate> ready) { schedule(ready); }

std::size_t slow_start_round_robin::pick(std::span<const pick_candidate> ready, const pick_info&) {
  if (loop_.now() >= next_update_) [[unlikely]]
    base::if_memory_allows([&] { schedule(ready); });
  return schedule_.next(sequence_);
}

// As often as weights are computed by default.
void slow_start_round_robin::schedule(std::span<const pick_candidate> ready) {
  std::vector<double> weights(ready.size(), 1);
  const bool grows = growth_.reduce(ready, weights, loop_.now());
  schedule_.set(weights);
  next_update_ = grows ? deadline_after(loop_.now(), std::chrono::seconds(1)) : never;
}

}  // namespace coracle::client
