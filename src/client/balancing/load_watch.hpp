// load_watch: receives the load that a server reports out of band over one connection (gRFC A51,
// xds.service.orca.v3.OpenRcaService/StreamCoreMetrics).
#pragma once

#include "client/balancing/connection_watch.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/rpc/load_report.hpp"

#include <cstdint>

namespace coracle::client {

class load_watch_owner {
 public:
  // A report has arrived. Called by the task that runs the watch.
  virtual void on_load(const load_report& load) noexcept = 0;
  // The server has no reports: there are none from this connection.
  virtual void on_no_load() noexcept = 0;

 protected:
  ~load_watch_owner() = default;
};

// A server without the service is not asked again on this connection. A stream that ends with another error
// is repeated after a pause.
class load_watch final : public connection_watch {
 public:
  // The maximum size of one report: some thousand named values.
  static constexpr std::uint32_t answer_bytes_max = 64u << 10;

  load_watch(transport::connection& on, const connect_params& params, duration interval,
             load_watch_owner& owner)
      : connection_watch(on, params, answer_bytes_max), owner_(owner), interval_(interval) {}

 private:
  // connection_watch
  task<status> call() override;
  bool ended(const status& failure, bool begun, bool refused) noexcept override;

  load_watch_owner& owner_;
  const duration interval_;
};

}  // namespace coracle::client
