#include "load_reports.hpp"

#include <algorithm>
#include <chrono>

namespace interop {

using namespace std::chrono_literals;

load_report report_of(const grpc::testing::TestOrcaReport& wanted) {
  load_report report;
  report.set_cpu_utilization(wanted.cpu_utilization());
  report.set_mem_utilization(wanted.memory_utilization());
  *report.mutable_request_cost() = wanted.request_cost();
  *report.mutable_utilization() = wanted.utilization();
  return report;
}

void report_load(coracle::server_context& context, const grpc::testing::TestOrcaReport& wanted) {
  context.trailing_metadata().add("endpoint-load-metrics-bin", report_of(wanted).SerializeAsString());
}

coracle::replies<load_report> load_reports::StreamCoreMetrics(
    coracle::server_context&, const xds::service::orca::v3::OrcaLoadReportRequest& request) {
  // A client that requests a shorter interval gets this one: the cost of reports is bounded.
  constexpr coracle::duration least = 10ms;
  const auto& wish = request.report_interval();
  const auto interval = std::chrono::seconds(std::clamp<std::int64_t>(wish.seconds(), 0, 3600)) +
                        std::chrono::nanoseconds(wish.nanos());
  while (true) {
    const auto report = current_;
    co_yield report;
    co_await coracle::sleep_for(std::max<coracle::duration>(interval, least));
  }
}

}  // namespace interop
