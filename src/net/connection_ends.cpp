#include "net/connection_ends.hpp"

#include "net/raw_address.hpp"

namespace coracle::net {

const address& connection_ends::local() const {
  if (!local_) {
    io::raw_address raw;
    const bool none = on_.io().local_address(socket_, raw) < 0;
    local_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  }
  return *local_;
}

const address& connection_ends::peer() const {
  if (!peer_) {
    io::raw_address raw;
    const bool none = on_.io().peer_address(socket_, raw) < 0;
    peer_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  }
  return *peer_;
}

}  // namespace coracle::net
