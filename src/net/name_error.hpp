// name_error: the statuses of failed name resolution, the same for c-ares and for a simulated world.
#pragma once

#include "coracle/base/status.hpp"

#include <string_view>

namespace coracle::net {

status no_such_name(std::string_view host);    // NOT_FOUND
status no_address(std::string_view host);      // NOT_FOUND: the name exists, but has no address
status no_name_server(std::string_view host);  // UNAVAILABLE
status name_stopped(std::string_view host);    // CANCELLED
status name_late(std::string_view host);       // DEADLINE_EXCEEDED

}  // namespace coracle::net
