// Cases about a server's load reports (gRFC A51).
#include "expectations.hpp"
#include "interop_cases.hpp"
#include "xds/service/orca/v3/orca.coracle.hpp"

#include <google/protobuf/util/message_differencer.h>

#include <string>

namespace interop {

namespace {

namespace orca = xds::service::orca::v3;
using load_report = xds::data::orca::v3::OrcaLoadReport;

pb::TestOrcaReport load(double cpu, double memory, double util) {
  pb::TestOrcaReport report;
  report.set_cpu_utilization(cpu);
  report.set_memory_utilization(memory);
  (*report.mutable_utilization())["util"] = util;
  return report;
}

bool tells(const load_report& observed, const pb::TestOrcaReport& wanted) {
  load_report same;
  same.set_cpu_utilization(wanted.cpu_utilization());
  same.set_mem_utilization(wanted.memory_utilization());
  *same.mutable_request_cost() = wanted.request_cost();
  *same.mutable_utilization() = wanted.utilization();
  return google::protobuf::util::MessageDifferencer::Equals(observed, same);
}

using duplex = coracle::bidi_call<pb::StreamingOutputCallRequest, pb::StreamingOutputCallResponse>;
using report_stream = coracle::server_streaming_call<load_report>;

coracle::task<> sets_and_hears(duplex& call, report_stream& reports, const pb::TestOrcaReport& wanted) {
  auto request = duplex_request(0, 1);
  *request.mutable_orca_oob_report() = wanted;
  (co_await call.write(request)).throw_if_error();
  const auto response = (co_await call.next()).value();
  require(response.has_value(), "no response came");
  while (true) {
    const auto observed = (co_await reports.next()).value();
    require(observed.has_value(), "the reports ended");
    if (tells(*observed, wanted)) co_return;
  }
}

}  // namespace

coracle::task<> orca_per_rpc(session& at) {
  const stub test(at.channel());
  pb::SimpleRequest request;
  auto& wanted = *request.mutable_orca_per_query_report();
  wanted = load(0.8210, 0.5847, 0.30499);
  (*wanted.mutable_request_cost())["cost"] = 3456.32;
  auto call = test.UnaryCall(request, coracle::within(patience));
  const auto reply = co_await call;
  require_code(reply.status(), coracle::status_code::ok);
  load_report observed;
  const std::string bytes(call.trailing_metadata().find("endpoint-load-metrics-bin").value_or(""));
  require(observed.ParseFromString(bytes) && tells(observed, wanted),
          "the trailers tell " + observed.ShortDebugString());
}

coracle::task<> orca_oob(session& at) {
  const stub test(at.channel());
  const orca::rpc::OpenRcaService::stub service(at.channel());
  orca::OrcaLoadReportRequest often;
  often.mutable_report_interval()->set_nanos(50'000'000);
  auto reports = service.StreamCoreMetrics(often, coracle::within(patience));
  auto call = test.FullDuplexCall(coracle::within(patience));
  co_await sets_and_hears(call, reports, load(0.8210, 0.5847, 0.30499));
  co_await sets_and_hears(call, reports, load(0.29309, 0.2, 0.2039));
  const auto status = co_await call.finish();
  require_code(status, coracle::status_code::ok);
}

}  // namespace interop
