#include "xds/load/cluster_load.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/rpc/load_report.hpp"
#include "xds/limits.hpp"

#include <algorithm>
#include <optional>

namespace coracle::xds {

void locality_load::ended(status_code code, const metadata& trailing) noexcept {
  add(code == status_code::ok ? succeeded_ : failed_, 1);
  in_progress_.fetch_sub(1, std::memory_order_relaxed);
  // Without memory for them, these metrics are not reported.
  if (!trailing.empty()) base::if_memory_allows([&] { add_metrics(trailing); });
}

void locality_load::add_metrics(const metadata& trailing) {
  const std::shared_ptr<cluster_load> of = of_.lock();
  const auto wanted = of ? of->reported_metrics() : nullptr;
  if (!wanted) return;
  const std::optional<load_report> load = load_report::of_call(trailing);
  if (!load) return;
  const std::lock_guard lock(adding_);
  const auto add_one = [this](std::string_view name, double value) {
    auto at = metrics_.find(name);
    if (at == metrics_.end()) at = metrics_.emplace(std::string(name), metric_sum{}).first;
    ++at->second.calls;
    at->second.total += value;
  };
  const auto wants = [&](std::string_view name) {
    return std::find(wanted->begin(), wanted->end(), name) != wanted->end();
  };
  const auto add_if_wanted = [&](std::string_view name, const std::optional<double>& value) {
    if (value && wants(name)) add_one(name, *value);
  };
  add_if_wanted("cpu_utilization", load->cpu_utilization());
  add_if_wanted("mem_utilization", load->memory_utilization());
  add_if_wanted("application_utilization", load->application_utilization());
  const bool all_named = wants("named_metrics.*");
  for (const auto& [name, value] : load->metrics()) {
    const std::string full = std::string(named_metrics) + name;
    if (all_named ? metrics_.size() < limits::named_metrics_max || metrics_.contains(full) : wants(full))
      add_one(full, value);
  }
}

locality_report locality_load::take() {
  locality_report r;
  r.issued = issued_.exchange(0, std::memory_order_relaxed);
  r.succeeded = succeeded_.exchange(0, std::memory_order_relaxed);
  r.failed = failed_.exchange(0, std::memory_order_relaxed);
  r.in_progress = in_progress_.load(std::memory_order_relaxed);
  const std::lock_guard lock(adding_);
  r.metrics.swap(metrics_);
  return r;
}

void cluster_load::report_metrics(std::vector<std::string> names) {
  auto made = names.empty() ? nullptr : std::make_shared<const std::vector<std::string>>(std::move(names));
  const std::lock_guard lock(changing_);
  metrics_ = std::move(made);
}

std::shared_ptr<const std::vector<std::string>> cluster_load::reported_metrics() const {
  const std::lock_guard lock(changing_);
  return metrics_;
}

std::shared_ptr<locality_load> cluster_load::of(const std::shared_ptr<cluster_load>& cluster,
                                                const locality& where) {
  const std::lock_guard lock(cluster->changing_);
  std::shared_ptr<locality_load>& one = cluster->localities_[where];
  if (!one) one = std::make_shared<locality_load>(cluster);
  return one;
}

// Without memory for its category, a drop counts as one of those that have none.
void cluster_load::dropped(std::string_view category) noexcept {
  const std::lock_guard lock(changing_);
  ++dropped_in_all_;
  if (category.empty()) return;
  base::if_memory_allows([&] {
    auto at = dropped_.find(category);
    if (at == dropped_.end() && dropped_.size() >= limits::drop_categories_max) return;
    if (at == dropped_.end()) at = dropped_.emplace(std::string(category), 0).first;
    ++at->second;
  });
}

cluster_report cluster_load::take() {
  cluster_report r;
  const std::lock_guard lock(changing_);
  for (const auto& [where, load] : localities_) {
    locality_report one = load->take();
    if (one.empty()) continue;
    one.locality = where;
    r.localities.push_back(std::move(one));
  }
  std::erase_if(localities_, [](const auto& l) { return l.second.use_count() == 1 && l.second->idle(); });
  for (auto& [category, n] : dropped_) r.dropped.emplace(category, n);
  dropped_.clear();
  r.dropped_in_all = std::exchange(dropped_in_all_, 0);
  return r;
}

}  // namespace coracle::xds
