// How a channel of c-ares is made.
#pragma once

#include "coracle/base/result.hpp"
#include "net/dns/dns_settings.hpp"

#include <ares.h>

namespace coracle::net {

// RESOURCE_EXHAUSTED or UNAVAILABLE when c-ares cannot. The caller destroys the channel.
result<ares_channel> open_ares_channel(const dns_settings& settings, ares_sock_state_cb socket_changed,
                                       void* context);

}  // namespace coracle::net
