#include "server/live_options.hpp"

#include <utility>

namespace coracle::server_internal {

namespace {

transport::connection_options rules_of(const server_limits& l, const server_options& o) {
  transport::connection_options c;
  c.http2.max_concurrent_streams = l.streams;
  c.http2.header_list_bytes = l.header_list_bytes;
  c.http2.header_block_bytes = http2::request_block_bytes_max;
  c.http2.continuations = http2::request_continuations_max;
  c.http2.settings_timeout = l.handshake_time;
  c.http2.header_timeout = l.handshake_time;
  c.http2.keepalive = {o.keepalive.time, o.keepalive.timeout, true};
  c.http2.pings.min_interval = o.client_pings.min_interval;
  c.http2.pings.without_calls = o.client_pings.without_calls;
  c.age.max_idle = o.max_connection_idle;
  c.age.max_age = o.max_connection_age.max;
  c.age.max_age_grace = o.max_connection_age.grace;
  c.backpressure.unread_bytes = l.unread_bytes;
  c.backpressure.stall_time = l.stall_time;
  return c;
}

transport::http1_options http1_of(const server_limits& l) {
  transport::http1_options h;
  h.limits.header_bytes = l.header_list_bytes;
  h.limits.header_timeout = l.handshake_time;
  h.limits.body_timeout = l.stall_time;
  return h;
}

}  // namespace

live_options::live_options(const reloadable_options& o, const server_options& fixed,
                           std::shared_ptr<rate_limits> rates_of_all)
    : limits(o.limits),
      admission(o.admission),
      rules(rules_of(o.limits, fixed)),
      http1(http1_of(o.limits)),
      rates(std::move(rates_of_all)) {}

}  // namespace coracle::server_internal
