// dns_resolver: resolves a host name with net::resolver (c-ares, or simulated names in a simulation).
#pragma once

#include "coracle/client/resolver.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace coracle::client {

// Resolves when it starts, and again whenever the channel requests it. For one loop.
std::shared_ptr<resolver> make_dns_resolver(std::string host, std::uint16_t port);

}  // namespace coracle::client
