#include "coracle/services/orca_service.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/server/load_reporter.hpp"
#include "services/orca.coracle.hpp"
#include "wellknown/orca_load_report.pb.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>

namespace coracle {

namespace {

namespace xds_messages = wellknown::xds;
using xds_messages::data::orca::v3::OrcaLoadReport;
using xds_messages::service::orca::v3::OrcaLoadReportRequest;

// Returns `least` for an interval that is missing, negative or malformed.
duration interval_of(const OrcaLoadReportRequest& request, duration least) {
  constexpr std::int64_t seconds_max = 1'000'000'000;  // 31 years
  const std::int64_t seconds = std::min<std::int64_t>(request.report_interval().seconds(), seconds_max);
  if (seconds < 0) return least;
  return std::max<duration>(
      least, std::chrono::seconds(seconds) + std::chrono::nanoseconds(request.report_interval().nanos()));
}

// Returns the next time after `interval` that is a multiple of `step`. Streams that began at different times
// and have different intervals then wake up together, in one iteration of their loop.
time_point next_report(time_point now, duration interval, duration step) noexcept {
  const time_point earliest = deadline_after(now, interval);
  const duration past = earliest.time_since_epoch() % step;
  return past == duration::zero() ? earliest : deadline_after(earliest, step - past);
}

// A stream counts while it lives.
class counted_stream {
 public:
  explicit counted_stream(std::atomic<std::size_t>& n) noexcept : of_(n), number_(++n) {}
  counted_stream(const counted_stream&) = delete;
  counted_stream& operator=(const counted_stream&) = delete;
  ~counted_stream() { --of_; }
  [[nodiscard]] bool admitted() const noexcept { return number_ <= orca_service::streams_max; }

 private:
  std::atomic<std::size_t>& of_;
  const std::size_t number_;
};

}  // namespace

class orca_service::implementation final
    : public xds_messages::service::orca::v3::rpc::OpenRcaService::service {
 public:
  implementation(std::shared_ptr<load_reporter> load, duration min_interval)
      : load_(std::move(load)), min_interval_(std::max(min_interval, least_min_interval)) {
    CORACLE_REQUIRE(load_, "an orca_service requires a load_reporter");
  }

  [[nodiscard]] bool is_limited() const noexcept override { return false; }

  // Asks for costs by their names are of no effect: only reports of calls have costs (A51).
  replies<OrcaLoadReport> StreamCoreMetrics(server_context& context,
                                            const OrcaLoadReportRequest& request) override {
    const counted_stream self(streams_);
    if (!self.admitted())
      co_return status::resource_exhausted("too many streams of load reports: close some");
    const duration interval = interval_of(request, min_interval_);
    OrcaLoadReport report;
    while (true) {
      const std::string bytes = load_->at(coro::this_executor().now()).serialize();
      if (!report.ParseFromString(bytes))
        co_return status::internal("a name in the load report is not UTF-8");
      co_yield report;
      auto wait = sleep_until(next_report(coro::this_executor().now(), interval, min_interval_ / 8));
      stop_on<void> until_drain(context.drain_token(), std::move(wait));
      const status waited = co_await until_drain;
      if (!waited.ok()) co_return status::unavailable("the server is shutting down");
    }
  }

 private:
  const std::shared_ptr<load_reporter> load_;
  const duration min_interval_;
  std::atomic<std::size_t> streams_{0};
};

orca_service::orca_service(std::shared_ptr<load_reporter> load, duration min_interval)
    : implementation_(std::make_unique<implementation>(std::move(load), min_interval)) {}
orca_service::~orca_service() = default;

orca_service::operator service&() noexcept { return *implementation_; }

}  // namespace coracle
