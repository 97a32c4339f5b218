// connection_rules: what a server's options mean for each of its connections.
#pragma once

#include "coracle/server/server_options.hpp"
#include "transport/connection_options.hpp"

#include <cstdint>

namespace coracle::server_internal {

[[nodiscard]] transport::connection_options connection_rules(const server_options& o);

// Connections that came together are not to go together: the age is 90 % to 110 % (gRFC A9).
[[nodiscard]] duration jittered(duration d, std::uint64_t random) noexcept;

}  // namespace coracle::server_internal
