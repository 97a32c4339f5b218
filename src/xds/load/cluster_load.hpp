// cluster_load: what the calls to a cluster came to, for reports to its control plane (gRFC A27, A64, A85).
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"
#include "xds/bootstrap/bootstrap.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

// The values of one metric in the load reports of servers.
struct metric_sum {
  std::uint64_t calls = 0;
  double total = 0;
};
// By the names that a Cluster gives them: `cpu_utilization`, `named_metrics.X`.
using metric_sums = std::map<std::string, metric_sum, std::less<>>;
inline constexpr std::string_view named_metrics = "named_metrics.";

struct locality_report {
  xds::locality locality;
  std::uint64_t issued = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t in_progress = 0;  // at the end of the time
  metric_sums metrics;

  [[nodiscard]] bool empty() const noexcept { return issued + succeeded + failed + in_progress == 0; }
};

// Since the last one.
struct cluster_report {
  std::vector<locality_report> localities;  // those that have had calls
  std::map<std::string, std::uint64_t> dropped;  // by category
  std::uint64_t dropped_in_all = 0;  // with those that have no category

  [[nodiscard]] bool empty() const noexcept { return localities.empty() && dropped_in_all == 0; }
};

class cluster_load;

// The calls to one locality, of all loops.
class locality_load {
 public:
  explicit locality_load(std::weak_ptr<cluster_load> of) noexcept : of_(std::move(of)) {}

  void began() noexcept { add(issued_, 1), add(in_progress_, 1); }
  void ended(status_code code, const metadata& trailing) noexcept;
  // Calls that are counted elsewhere from now on, or were until now.
  void hand_over(std::uint64_t n) noexcept { in_progress_.fetch_sub(n, std::memory_order_relaxed); }
  void take_over(std::uint64_t n) noexcept { add(in_progress_, n); }
  // What has come about since the last time.
  [[nodiscard]] locality_report take();
  [[nodiscard]] bool idle() const noexcept {
    return issued_.load() + succeeded_.load() + failed_.load() + in_progress_.load() == 0;
  }

 private:
  using count = std::atomic<std::uint64_t>;
  static void add(count& to, std::uint64_t n) noexcept { to.fetch_add(n, std::memory_order_relaxed); }
  void add_metrics(const metadata& trailing);

  const std::weak_ptr<cluster_load> of_;
  count issued_{0};
  count succeeded_{0};
  count failed_{0};
  count in_progress_{0};
  std::mutex adding_;
  metric_sums metrics_;
};

// Of the channels of one target in a runtime; may be used on any thread.
class cluster_load {
 public:
  cluster_load(std::string cluster, std::string service) noexcept
      : cluster_(std::move(cluster)), service_(std::move(service)) {}

  [[nodiscard]] const std::string& cluster() const noexcept { return cluster_; }
  // The name of its endpoints; empty if that is the cluster's.
  [[nodiscard]] const std::string& service() const noexcept { return service_; }

  // Which metrics of servers are reported: names, or `named_metrics.*` for all of these.
  void report_metrics(std::vector<std::string> names);
  [[nodiscard]] static std::shared_ptr<locality_load> of(const std::shared_ptr<cluster_load>& cluster,
                                                         const locality& where);
  // An empty category: the limit of calls in progress.
  void dropped(std::string_view category) noexcept;
  [[nodiscard]] cluster_report take();

 private:
  friend class locality_load;
  [[nodiscard]] std::shared_ptr<const std::vector<std::string>> reported_metrics() const;

  const std::string cluster_;
  const std::string service_;
  mutable std::mutex changing_;
  std::shared_ptr<const std::vector<std::string>> metrics_;  // null: none
  std::map<locality, std::shared_ptr<locality_load>> localities_;
  std::map<std::string, std::uint64_t, std::less<>> dropped_;
  std::uint64_t dropped_in_all_ = 0;
};

}  // namespace coracle::xds
