// tunnel_dialer: connects to a proxy's endpoint and through it to the target (gRFC A1).
#pragma once

#include "client/dialer.hpp"
#include "client/tunnel.hpp"

#include <memory>

namespace coracle::client {

std::shared_ptr<dialer> make_tunnel_dialer(tunnel through);

}  // namespace coracle::client
