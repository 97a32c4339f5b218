// Between address and what the kernel takes.
#pragma once

#include "coracle/net/address.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// AF_UNSPEC and size 0 for a default-made address.
runtime_internal::raw_address to_raw(const address& a) noexcept;
// A default-made address for families that we do not know and for UNIX sockets without a name.
address from_raw(const runtime_internal::raw_address& raw);
// AF_INET, AF_INET6, AF_UNIX or AF_UNSPEC.
int raw_family(const address& a) noexcept;

}  // namespace coracle::net
