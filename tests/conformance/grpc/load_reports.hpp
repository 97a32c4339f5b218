// The load that clients of the interop server set, as servers report theirs (gRFC A51).
#pragma once

#include "grpc/testing/messages.pb.h"
#include "xds/service/orca/v3/orca.coracle.hpp"

#include <coracle/coro/mutex.hpp>
#include <coracle/server.hpp>

#include <utility>

namespace interop {

using load_report = xds::data::orca::v3::OrcaLoadReport;

load_report report_of(const grpc::testing::TestOrcaReport& wanted);

// Adds the cost of the load to the trailers of a call.
void report_load(coracle::server_context& context, const grpc::testing::TestOrcaReport& wanted);

// For a server of one loop. One call at a time sets the load that is reported to all: see load_claim.
class load_reports final : public xds::service::orca::v3::rpc::OpenRcaService::service {
 public:
  [[nodiscard]] coracle::mutex& turn() noexcept { return turn_; }

 private:
  friend class load_claim;
  coracle::replies<load_report> StreamCoreMetrics(
      coracle::server_context& context,
      const xds::service::orca::v3::OrcaLoadReportRequest& request) override;
  coracle::mutex turn_;
  load_report current_;
};

// Held by the call whose turn it is. Its end removes the load.
class load_claim {
 public:
  load_claim(load_reports& at, coracle::mutex::guard turn) noexcept : at_(at), turn_(std::move(turn)) {}
  load_claim(const load_claim&) = delete;
  load_claim& operator=(const load_claim&) = delete;
  ~load_claim() { at_.current_.Clear(); }
  void tell(const grpc::testing::TestOrcaReport& wanted) { at_.current_ = report_of(wanted); }

 private:
  load_reports& at_;
  coracle::mutex::guard turn_;
};

}  // namespace interop
