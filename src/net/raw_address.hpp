// raw_address: converts between address and the kernel's representation.
#pragma once

#include "coracle/net/address.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// Returns AF_UNSPEC and size 0 for a default-constructed address.
runtime_internal::raw_address to_raw(const address& a) noexcept;
// Returns a default-constructed address for unknown families and for UNIX sockets without a name.
address from_raw(const runtime_internal::raw_address& raw);
// Returns AF_INET, AF_INET6, AF_UNIX or AF_UNSPEC.
int raw_family(const address& a) noexcept;

}  // namespace coracle::net
