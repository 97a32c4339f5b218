// host_name: answers and checks of host names that need no query, and the statuses of queries that fail.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net {

// Returns the addresses of an IP literal, in brackets or not, or of localhost and the names below it; else
// none.
std::vector<address> addresses_at_once(std::string_view host, std::uint16_t port);

// Returns OK for a name that can be sent to a name server, else INVALID_ARGUMENT with a suggested fix.
status check_host_name(std::string_view host);

// The name of this machine; empty if it has none.
std::string own_host_name();

// The statuses of failed name resolution, the same for c-ares and for a simulated world.
status no_such_name(std::string_view host) noexcept;    // NOT_FOUND
status no_address(std::string_view host) noexcept;      // NOT_FOUND: the name exists, but has no address
status no_name_server(std::string_view host) noexcept;  // UNAVAILABLE
status name_cancelled(std::string_view host) noexcept;    // CANCELLED
status name_timed_out(std::string_view host) noexcept;       // DEADLINE_EXCEEDED
status no_memory_for_name(std::string_view host) noexcept;  // RESOURCE_EXHAUSTED

}  // namespace coracle::net
