// dns_resolver: a name's addresses, by net::resolver (c-ares; the world's own names in a simulation).
#pragma once

#include "coracle/client/resolver.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace coracle::client {

// Asks when it is begun, and again whenever the channel wants it. One loop's.
std::shared_ptr<resolver> make_dns_resolver(std::string host, std::uint16_t port);

}  // namespace coracle::client
