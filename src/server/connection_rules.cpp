#include "server/connection_rules.hpp"

namespace coracle::server_internal {

duration jittered(duration d, std::uint64_t random) noexcept {
  if (d == duration::max()) return d;
  return d + d / 10 - d / 500 * static_cast<std::int64_t>(random % 101);
}

transport::connection_options connection_rules(const server_options& o) {
  const server_limits& l = o.limits();
  transport::connection_options c;
  c.http2.max_concurrent_streams = l.streams();
  c.http2.header_list_bytes = l.header_list_bytes();
  c.http2.settings_timeout = l.handshake_time();
  c.http2.header_timeout = l.handshake_time();
  c.http2.keepalive = {o.keepalive_time(), o.keepalive_timeout(), true};
  c.http2.pings.min_interval = o.client_ping_interval();
  c.http2.pings.without_calls = o.client_pings_without_calls();
  c.life.max_idle = o.max_connection_idle();
  c.life.max_age = o.max_connection_age();
  c.life.max_age_grace = o.max_connection_age_grace();
  c.burden.unread_bytes = l.unread_bytes();
  c.burden.stall_time = l.stall_time();
  return c;
}

}  // namespace coracle::server_internal
