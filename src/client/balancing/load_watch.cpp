#include "client/balancing/load_watch.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "runtime/repeated_lines.hpp"
#include "wellknown/orca.pb.h"

#include <chrono>

namespace coracle::client {

namespace xds_messages = wellknown::xds;

task<status> load_watch::call() {
  try {
    xds_messages::service::orca::v3::OrcaLoadReportRequest request;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(interval_);
    request.mutable_report_interval()->set_seconds(seconds.count());
    request.mutable_report_interval()->set_nanos(static_cast<std::int32_t>((interval_ - seconds).count()));
    server_streaming_call<xds_messages::data::orca::v3::OrcaLoadReport> reports(
        channel(shared_from_this()), "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics", request,
        options());
    xds_messages::data::orca::v3::OrcaLoadReport message;
    while (true) {
      const result<bool> more = co_await reports.read(message);
      if (!more.ok()) co_return more.status();
      if (!*more) break;
      answered();
      const auto report = load_report::parse(message.SerializeAsString());
      if (report && !stopped()) owner_.on_load(*report);
    }
  } catch (const std::bad_alloc&) {
    co_return rpc::out_of_memory();
  }
  co_return status::unknown("the server ended the reports");
}

bool load_watch::ended(const status& failure, bool begun, bool) noexcept {
  if (!begun || failure.code() != status_code::unimplemented) return true;
  base::if_memory_allows([&] {
    repeated_lines::write(*loop::current(), log_room::client, log_level::error, nullptr, "no load reports",
                          "a server does not report its load out of band, as the channel's policy wants "
                          "it to: it has no xds.service.orca.v3.OpenRcaService");
  });
  owner_.on_no_load();
  return false;
}

}  // namespace coracle::client
