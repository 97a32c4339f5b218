// What can be said of a host's name without asking anybody.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::net {

// Of an IP literal, in brackets or not, or of localhost and the names below it; else none.
std::vector<address> addresses_at_once(std::string_view host, std::uint16_t port);

// Ok for what a name server can be asked for; else INVALID_ARGUMENT with the mend.
status check_host_name(std::string_view host);

}  // namespace coracle::net
