// host_name: answers and checks of host names that need no query.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::net {

// Returns the addresses of an IP literal, in brackets or not, or of localhost and the names below it; else
// none.
std::vector<address> addresses_at_once(std::string_view host, std::uint16_t port);

// Returns OK for a name that can be sent to a name server, else INVALID_ARGUMENT with a suggested fix.
status check_host_name(std::string_view host);

}  // namespace coracle::net
