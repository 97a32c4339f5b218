// all_instruments: the instruments that the library has, whether or not a program measures with them.
#pragma once

#include "client/balancing/balancing_instruments.hpp"
#include "client/balancing/subchannel_instruments.hpp"
#include "client/call/retry_instruments.hpp"
#include "net/dns/dns_instruments.hpp"
#include "net/tcp_meter.hpp"
#include "server/server_instruments.hpp"
#include "telemetry/metrics/call_instruments.hpp"
#include "telemetry/metrics/certificate_instruments.hpp"
#include "telemetry/metrics/cost_instruments.hpp"
#include "telemetry/metrics/loop_instruments.hpp"
#include "telemetry/metrics/retry_instruments.hpp"
#include "telemetry/metrics/span_instruments.hpp"
#include "telemetry/otlp/export_counts.hpp"
#include "tls/handshake_instruments.hpp"
#include "transport/http2_instruments.hpp"
#include "xds/status/client_instruments.hpp"

#include <vector>

namespace coracle::testing_support {

// A file that defines instruments is added here; a test finds those that are not.
inline std::vector<const instrument*> all_instruments() {
  std::vector<const instrument*> all;
  for (const auto part :
       {telemetry_internal::call_instruments(), telemetry_internal::retry_instruments(),
        telemetry_internal::cost_instruments(), telemetry_internal::loop_instruments(),
        telemetry_internal::certificate_instruments(), telemetry_internal::export_instruments(),
        telemetry_internal::span_instruments(), client::subchannel_instruments(),
        client::policy_instruments(), client::balancing_instruments(), net::dns_instruments(),
        net::tcp_instruments(), server_internal::server_instruments(), tls::handshake_instruments(),
        transport::http2_instruments()})
    all.insert(all.end(), part.begin(), part.end());
  all.insert(all.end(), xds::client_instruments.begin(), xds::client_instruments.end());
  return all;
}

}  // namespace coracle::testing_support
