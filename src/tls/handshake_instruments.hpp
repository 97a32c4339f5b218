// handshake_instruments: the TLS handshakes of servers (gRFC A118).
#pragma once

#include "net/duplex.hpp"

namespace coracle::tls {

// On a loop.
void measure_server_handshake(const net::handshake_end& end) noexcept;

}  // namespace coracle::tls
