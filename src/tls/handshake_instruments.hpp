// handshake_instruments: the TLS handshakes of servers (gRFC A118).
#pragma once

#include "coracle/base/metrics.hpp"
#include "net/duplex.hpp"

#include <span>

namespace coracle::tls {

[[nodiscard]] std::span<const instrument* const> handshake_instruments() noexcept;

// On a loop.
void measure_server_handshake(const net::handshake_end& end) noexcept;

}  // namespace coracle::tls
