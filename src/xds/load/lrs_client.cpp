#include "xds/load/lrs_client.hpp"

#include "client/connecting/backoff.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/ads/node.hpp"
#include "xds/ads/wait_until.hpp"
#include "xds/limits.hpp"
#include "xds/wire/load_stats.pb.h"

#include <algorithm>
#include <exception>
#include <set>

namespace coracle::xds {

namespace {

constexpr const char* reports_path = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats";

using reports_call = bidi_call<wire::LoadStatsRequest, wire::LoadStatsResponse>;

duration interval_of(const wire::LoadStatsResponse& from) {
  constexpr std::int64_t longest_s = 24 * 3600;
  const auto& asked = from.load_reporting_interval();
  const auto seconds = std::chrono::seconds(std::clamp<std::int64_t>(asked.seconds(), 0, longest_s));
  return std::max<duration>(seconds + std::chrono::nanoseconds(asked.nanos()), limits::load_interval_min);
}

void set_duration(google::protobuf::Duration& to, duration d) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(d);
  to.set_seconds(seconds.count());
  to.set_nanos(static_cast<std::int32_t>((d - seconds).count()));
}

template <class Stats>
void set_sum(Stats& to, const metric_sum& sum) {
  to.set_num_requests_finished_with_metric(sum.calls);
  to.set_total_metric_value(sum.total);
}

void add_metric(wire::LocalityStats& to, const std::string& name, const metric_sum& sum) {
  if (name == "cpu_utilization") return set_sum(*to.mutable_cpu_utilization(), sum);
  if (name == "mem_utilization") return set_sum(*to.mutable_mem_utilization(), sum);
  if (name == "application_utilization") return set_sum(*to.mutable_application_utilization(), sum);
  wire::NamedMetricStats& one = *to.add_load_metric_stats();
  one.set_metric_name(name.substr(named_metrics.size()));
  set_sum(one, sum);
}

void write_report(const cluster_report& from, wire::ClusterStats& to) {
  for (const locality_report& l : from.localities) {
    wire::LocalityStats& one = *to.add_upstream_locality_stats();
    one.mutable_locality()->set_region(l.locality.region);
    one.mutable_locality()->set_zone(l.locality.zone);
    one.mutable_locality()->set_sub_zone(l.locality.sub_zone);
    one.set_total_issued_requests(l.issued);
    one.set_total_successful_requests(l.succeeded);
    one.set_total_error_requests(l.failed);
    one.set_total_requests_in_progress(l.in_progress);
    for (const auto& [name, sum] : l.metrics) add_metric(one, name, sum);
  }
  to.set_total_dropped_requests(from.dropped_in_all);
  for (const auto& [category, n] : from.dropped) {
    wire::DroppedRequests& one = *to.add_dropped_requests();
    one.set_category(category);
    one.set_dropped_count(n);
  }
}

}  // namespace

// A control plane, and the clusters whose load it wants.
struct lrs_client::plane {
  struct counted {
    std::shared_ptr<cluster_load> load;
    time_point since;
  };

  explicit plane(const management_server& which) : server(which) {}

  // Forgets clusters without other users that have nothing to report.
  void write_reports(wire::LoadStatsRequest& to, const std::set<std::string>* only, time_point now) {
    for (auto at = clusters.begin(); at != clusters.end();) {
      counted& c = at->second;
      const bool used = c.load.use_count() > 1;
      if (only && !only->contains(c.load->cluster())) {
        if (used) ++at;
        else at = clusters.erase(at);
        continue;
      }
      const cluster_report report = c.load->take();
      const duration since_last = now - std::exchange(c.since, now);
      if (report.empty()) {
        if (used) ++at;
        else at = clusters.erase(at);
        continue;
      }
      wire::ClusterStats& stats = *to.add_cluster_stats();
      stats.set_cluster_name(c.load->cluster());
      stats.set_cluster_service_name(c.load->service());
      set_duration(*stats.mutable_load_report_interval(), since_last);
      write_report(report, stats);
      ++at;
    }
  }

  // Without a stream nothing is reported, so that nothing else forgets.
  void forget_unused() {
    std::erase_if(clusters, [](const auto& c) { return c.second.load.use_count() == 1; });
    forget_at = std::max<std::size_t>(64, 2 * clusters.size());
  }

  const management_server server;
  event<> wanted;  // there is a cluster
  std::size_t forget_at = 64;
  std::map<std::pair<std::string, std::string>, counted> clusters;  // by their names, and those of endpoints
  bool served = false;
};

// One stream.
struct lrs_client::session {
  explicit session(reports_call c) : call(std::move(c)) {}

  reports_call call;
  bool responded = false;
  bool ended = false;
  duration interval{};
  bool all = false;
  std::set<std::string> clusters;
  event<> changed;

  [[nodiscard]] task<> read() {
    wire::LoadStatsResponse response;
    for (;;) {
      const result<bool> more = co_await call.read(response);
      if (!more.ok() || !*more) break;
      responded = true;
      interval = interval_of(response);
      all = response.send_all_clusters();
      clusters = {response.clusters().begin(), response.clusters().end()};
      changed.set();
    }
    ended = true;
    changed.set();
  }
  [[nodiscard]] task<> report(std::shared_ptr<plane> of) {
    time_point last = coro::this_executor().now();
    while (!ended) {
      const time_point due = responded ? deadline_after(last, interval) : never;
      if (coro::this_executor().now() < due) {
        changed.reset();
        co_await wait_until(changed, due);
        continue;
      }
      last = coro::this_executor().now();
      wire::LoadStatsRequest reports;
      of->write_reports(reports, all ? nullptr : &clusters, last);
      const status written = co_await call.write(reports);
      if (!written.ok()) co_return;  // the reader has the end of the call
      if (of->clusters.empty()) co_return call.cancel();  // the last one has been reported
    }
  }
};

std::shared_ptr<cluster_load> lrs_client::load_of(const management_server& to, const std::string& cluster,
                                                  const std::string& service) {
  auto found = std::find_if(planes_.begin(), planes_.end(), [&](const auto& p) { return p->server == to; });
  if (found == planes_.end()) {
    planes_.push_back(std::make_shared<plane>(to));
    found = std::prev(planes_.end());
    another_.set();
  }
  if ((*found)->clusters.size() >= (*found)->forget_at) (*found)->forget_unused();
  auto& known = (*found)->clusters;
  (*found)->wanted.set();
  const auto [at, is_new] = known.try_emplace({cluster, service});
  if (is_new) {
    try {
      at->second = {std::make_shared<cluster_load>(cluster, service), coro::this_executor().now()};
    } catch (...) {
      known.erase(at);
      throw;
    }
  }
  return at->second.load;
}

task<> lrs_client::run() {
  scope streams{co_await coro::this_environment()};
  streams.spawn(begin_streams(streams));
  co_await streams.join();
}

task<> lrs_client::begin_streams(scope& streams) {
  for (;;) {
    another_.reset();
    for (const std::shared_ptr<plane>& p : planes_)
      if (!std::exchange(p->served, true)) streams.spawn(serve(p));
    co_await another_;
  }
}

task<> lrs_client::serve(std::shared_ptr<plane> to) {
  client::backoff pause;
  for (;;) {
    while (to->clusters.empty()) {
      to->wanted.reset();
      co_await to->wanted;
    }
    bool responded = false;
    try {
      responded = co_await converse(to);
    } catch (const coro::cancelled&) {
      throw;
    } catch (const std::exception& e) {
      // Memory may have been exhausted. It is tried again, as after other failures.
      loop::current()
          ->log()
          .in(log_room::client)
          .warning("xDS: load reports to ", to->server.uri, ": ", e.what());
    }
    if (responded) pause.reset();
    else to->forget_unused();  // a control plane that takes no reports is not asked again for them
    const duration rest = pause.next(loop::current()->io().random());
    co_await sleep_for(rest);
  }
}

task<bool> lrs_client::converse(std::shared_ptr<plane> to) {
  const channel through = make_(to->server);
  const generic_stub by(through);
  call_options limited;
  limited.max_receive_bytes = limits::load_response_bytes_max;
  session s(by.bidi<wire::LoadStatsRequest, wire::LoadStatsResponse>(reports_path, limited));
  wire::LoadStatsRequest first;
  *first.mutable_node() = node_message(from_->node, user_agent_name_, user_agent_version_);
  first.mutable_node()->add_client_features("envoy.lrs.supports_send_all_clusters");
  const status written = co_await s.call.write(first);
  if (!written.ok()) co_return false;
  scope both{co_await coro::this_environment()};
  std::exception_ptr failure;
  try {
    both.spawn(s.read());
    both.spawn(s.report(to));
  } catch (...) {
    failure = std::current_exception();
    both.request_stop();
  }
  co_await both.join();
  if (failure) std::rethrow_exception(failure);
  co_return s.responded;
}

}  // namespace coracle::xds
