// secrets: where tokens and passwords may be sent to.
#pragma once

#include "coracle/security/credentials.hpp"

#include <string_view>

namespace coracle::naming {

// With TLS, or to this machine. server: a target of a channel.
[[nodiscard]] bool may_send_secret(const channel_credentials& by, std::string_view server);

}  // namespace coracle::naming
