#include "server/load_sources.hpp"

#include "coracle/server/load_reporter.hpp"
#include "runtime/cpu_limit.hpp"
#include "runtime/memory_limit.hpp"
#include "runtime/process_usage.hpp"

#include <algorithm>

namespace coracle {

load_reporter::load_reporter() : sources_(std::make_unique<server_internal::load_sources>()) {}
load_reporter::~load_reporter() = default;
void load_reporter::update(const std::function<void(load_report&)>& change) { sources_->update(change); }
void load_reporter::measure_cpu() { sources_->measure_cpu(); }
void load_reporter::measure_memory() { sources_->measure_memory(); }
void load_reporter::measure_calls() { sources_->measure_calls(); }
load_report load_reporter::at(time_point now) const { return sources_->at(now); }

namespace server_internal {

void load_sources::update(const std::function<void(load_report&)>& change) {
  const std::lock_guard lock(mutex_);
  change(told_);
  version_.fetch_add(1, std::memory_order_release);
}

void load_sources::measure_cpu() {
  const double cpus = runtime_internal::read_cpu_limit();
  const std::lock_guard lock(mutex_);
  cpus_ = cpus;
}

void load_sources::measure_memory() {
  const std::uint64_t limit = runtime_internal::read_memory_limit().bytes;
  const std::lock_guard lock(mutex_);
  memory_bytes_ = static_cast<double>(std::min(limit, runtime_internal::machine_bytes()));
}

void load_sources::measure_calls() {
  const std::lock_guard lock(mutex_);
  counts_calls_ = true;
}

std::shared_ptr<call_tally> load_sources::add_tally() {
  const std::lock_guard lock(mutex_);
  return tallies_.emplace_back(std::make_shared<call_tally>());
}

load_sources::reading load_sources::read(time_point now) const {
  reading r{now};
  if (cpus_ > 0) r.cpu_time = runtime_internal::cpu_time_of_process();
  for (const auto& t : tallies_) {
    r.ended += t->ended();
    r.failed += t->failed();
  }
  return r;
}

void load_sources::measure(const reading& now) {
  const std::chrono::duration<double> passed = now.when - last_->when;
  measured_.clear();
  if (cpus_ > 0) {
    const std::chrono::duration<double> used = now.cpu_time - last_->cpu_time;
    measured_.set_cpu_utilization(used / passed / cpus_);
  }
  if (memory_bytes_ > 0) {
    const auto resident = static_cast<double>(runtime_internal::resident_bytes());
    measured_.set_memory_utilization(std::min(resident / memory_bytes_, 1.0));
  }
  if (counts_calls_) {
    measured_.set_qps(static_cast<double>(now.ended - last_->ended) / passed.count());
    measured_.set_eps(static_cast<double>(now.failed - last_->failed) / passed.count());
  }
}

load_report load_sources::at(time_point now) {
  const std::lock_guard lock(mutex_);
  if (!last_) last_ = read(now);
  if (now - last_->when >= interval) {
    const reading r = read(now);
    measure(r);
    last_ = r;
  }
  return told_.or_else(measured_);
}

}  // namespace server_internal
}  // namespace coracle
