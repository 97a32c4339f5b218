#include "net/connection_ends.hpp"

#include "base/if_memory_allows.hpp"
#include "net/raw_address.hpp"

namespace coracle::net {

namespace {
const address unknown;
}

const address& connection_ends::local() const noexcept {
  if (local_) return *local_;
  base::if_memory_allows([&] {
    runtime_internal::raw_address raw;
    const bool none = on_.io().local_address(socket_, raw) < 0;
    local_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  });
  return local_ ? *local_ : unknown;
}

const address& connection_ends::peer() const noexcept {
  if (peer_) return *peer_;
  base::if_memory_allows([&] {
    runtime_internal::raw_address raw;
    const bool none = on_.io().peer_address(socket_, raw) < 0;
    peer_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  });
  return peer_ ? *peer_ : unknown;
}

}  // namespace coracle::net
