// connection_options: what an owner may decide about a connection.
#pragma once

#include "http2/limits.hpp"
#include "transport/burden.hpp"
#include "transport/lifespan.hpp"

namespace coracle::transport {

struct connection_options {
  // Keepalive (limits::keepalive) and the peer's PINGs (limits::pings) among them.
  http2::limits http2;
  // Of servers.
  lifespan_options life;
  burden_limits burden;
};

}  // namespace coracle::transport
